// The kind pipeline: its schema says what it takes, a plan holds every layer within its memory, and what cannot be is told with its member.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { errorsOf } from "./schema.mjs";
import { Service } from "./service.mjs";

let s, kind;
before(async () => {
  s = await Service.start();
  kind = (await s.get("/v1/plan-kinds")).json.items.find((k) => k.kind === "pipeline");
});
after(() => s.stop());

const LAYER = { name: "decoder", count: 8, forward: 1, parameters_bytes: 10, activation_bytes: { none: 4, full: 1 } };
const PROBLEM = { kind: "pipeline", stages: 4, micro_batches: 8, layers: [LAYER] };
const ask = (more) => s.post("/v1/plans", { ...PROBLEM, ...more });
const layer = (more) => ({ layers: [{ ...LAYER, ...more }] });
const given = (plan) => ({ method: "given", given: plan });
// A layer file with an embedding of 1, eight layers of 2 and a head of 3; megabytes.
const SAPP = {
  name: "made up", stage_const_mem: 5, layers_description: [
    { type: "HEAD", name: "embedding", nb_layer: 1, time: 1, memory_parameter: 100 },
    { type: "BODY", name: "decoder", nb_layer: 8, time: 2, memory_parameter: 10, memory_activation: 4, memory_select_rec: 0, memory_recompute: 1, recompute_coef: 0.25 },
    { type: "TAIL", name: "loss", nb_layer: 1, time: 3, memory_parameter: 200 },
  ],
};
const sapp = (more) => ({
  layers: undefined, format: "sapp",
  layers_file: { ...SAPP, layers_description: SAPP.layers_description.map((l) => (l.type === "BODY" ? { ...l, ...more } : l)) },
});
const sum = (rows) => rows.flat().reduce((a, b) => a + b, 0);

// Eight equal layers on four stages: two each. 1F1B takes (m + p - 1)(F + B) = 11 * (2 + 4) = 66, of which 11 - 8 are idle on each
// stage; stage s keeps 4 - s micro-batches of 2 * 4 bytes beside 2 * 10 bytes of parameters.
test("an even cut without a bound on memory", async () => {
  const { status, json } = await ask({ method: "bmpipe" });
  assert.equal(status, 201);
  assert.deepEqual(json.solution, {
    layers: [[2, 2, 2, 2]], recompute: { none: [[2, 2, 2, 2]], full: [[0, 0, 0, 0]] }, schedule: "1f1b", interleave: 1,
  });
  assert.deepEqual(json.predicted, { bottleneck: 6, makespan: 66, bubble_share: json.predicted.bubble_share, memory_bytes: [52, 44, 36, 28] });
  assert.ok(Math.abs(json.predicted.bubble_share - 3 / 11) < 1e-12);
  assert.equal(json.quality.objective, "makespan");
  assert.equal(json.quality.optimal, true);
  assert.equal(json.quality.lower_bound, 66);
  // asked for the slowest pair of the steady phase alone
  const { json: steady } = await ask({ objective: "bottleneck" });
  assert.equal(steady.quality.objective, "bottleneck");
  assert.equal(steady.quality.lower_bound, 6);
});

test("every schedule is planned, and every plan holds all layers", async () => {
  const names = kind.schema.anyOf[0].properties.schedule.enum;
  assert.equal(names.length, 13);
  for (const schedule of names) {
    const more = { schedule, ...(/interleaved/.test(schedule) ? { interleave: 2 } : {}), ...(/seq|tera/.test(schedule) ? { slices: 2 } : {}) };
    assert.deepEqual(errorsOf(kind.schema, kind.schema, { ...PROBLEM, ...more }), []);
    const { status, json } = await ask(more);
    assert.equal(status, 201, JSON.stringify(json));
    assert.equal(json.solution.schedule, schedule);
    assert.equal(json.solution.interleave, json.solution.layers.length);
    assert.equal(json.solution.interleave, /interleaved|-v$/.test(schedule) ? 2 : 1);
    assert.equal(sum(json.solution.layers), 8, schedule);
    assert.equal(sum(Object.values(json.solution.recompute).map(sum)), 8, schedule);
    assert.equal(json.predicted.memory_bytes.length, 4);
  }
});

test("what cannot be is told with its member", async () => {
  for (const [more, status, pointer, beyond] of [
    [{ stages: 0 }, 422, "/stages"], [{ stages: -4 }, 422, "/stages"], [{ stages: "4" }, 400, "/stages"], [{ stages: undefined }, 400, "/stages"],
    [{ micro_batches: 0 }, 422, "/micro_batches"], [{ micro_batches: undefined }, 400, "/micro_batches"], [{ micro_batches: 4e9 }, 422, "/micro_batches", "beyond the schema"],
    [{ interleave: 0 }, 422, "/interleave"], [{ interleave: 2, schedule: "1f1b" }, 422, "/interleave", "beyond the schema"], [{ schedule: "2f2b" }, 400, "/schedule"],
    [{ slices: 2 }, 422, "/slices", "beyond the schema"], [{ layers: undefined }, 400, "/layers"], [{ layers: [] }, 422, "/layers"], [{ layers: LAYER }, 400, "/layers"],
    [{ layers: [7] }, 400, "/layers/0"], [layer({ count: 0 }), 422, "/layers/0/count"], [layer({ count: 1.5 }), 400, "/layers/0/count"],
    [layer({ forward: 0 }), 422, "/layers/0/forward"], [layer({ backward: 0 }), 422, "/layers/0/backward"],
    [layer({ forward: -1 }), 422, "/layers/0/forward"], [layer({ forward: 1e300 }), 422, "/layers/0/forward"],
    [layer({ forward: undefined }), 400, "/layers/0/forward"], [layer({ parameters_bytes: -1 }), 422, "/layers/0/parameters_bytes"],
    [layer({ activation_bytes: { full: 1 } }), 400, "/layers/0/activation_bytes/none"], [layer({ activation_bytes: 4 }), 400, "/layers/0/activation_bytes"],
    [layer({ activation_bytes: { none: 4, all: 1 } }), 400, "/layers/0/activation_bytes/all"],
    [layer({ activation_bytes: { none: -4 } }), 422, "/layers/0/activation_bytes/none"], [layer({ backward: -2 }), 422, "/layers/0/backward"],
    [layer({ backward: { none: 2, full: "3" } }), 400, "/layers/0/backward/full"], [layer({ weight_gradient: 3 }), 422, "/layers/0/weight_gradient", "beyond the schema"],
    [layer({ overlapped: 1 }), 422, "/layers/0/overlapped", "beyond the schema"], [layer({ colour: 1 }), 400, "/layers/0/colour"],
    [{ layers: [LAYER, { ...LAYER, forward: -1 }] }, 422, "/layers/1/forward"], [layer({ count: 1025 }), 422, "/layers/0/count"],
    [{ stages: 256, micro_batches: 256, ...layer({ count: 256 }) }, 422, "/layers", "beyond the schema"],
    [{ head: 3 }, 400, "/head"], [{ head: { forward: -1 } }, 422, "/head/forward"], [{ tail: { backward: "x" } }, 400, "/tail/backward"],
    [{ memory_bytes: -1 }, 422, "/memory_bytes"], [{ memory_bytes: [99, 99, 99] }, 422, "/memory_bytes", "beyond the schema"],
    [{ memory_bytes: [99, 99, -1, 99] }, 422, "/memory_bytes/2"], [{ memory_bytes: "99" }, 400, "/memory_bytes"],
    [{ send_seconds: -1 }, 422, "/send_seconds"], [{ send_seconds: [1, 1] }, 422, "/send_seconds", "beyond the schema"], [{ send_seconds: [1, 1, -1] }, 422, "/send_seconds/2"],
    [{ recompute_cost: { full: -1 } }, 422, "/recompute_cost/full"], [{ recompute_cost: { none: 0 } }, 400, "/recompute_cost/none"],
    [{ objective: "speed" }, 422, "/objective"], [{ allow_empty: 1 }, 400, "/allow_empty"], [{ constant_bytes: "1" }, 400, "/constant_bytes"],
    [{ method: "magic" }, 400, "/method"], [{ colour: 1 }, 400, "/colour"],
    [{ method: "given" }, 400, "/given", "beyond the schema"], [given({}), 400, "/given/layers"], [given({ layers: 2 }), 400, "/given/layers"],
    [given({ layers: [[2, 2, 2, "2"]] }), 400, "/given/layers/0/3"], [given({ layers: [2, 2, 2, -2] }), 422, "/given/layers/3"],
    [given({ layers: [[2, 2, 2]] }), 422, "/given/layers/0", "beyond the schema"], [given({ layers: [[2, 2, 2, 1]] }), 422, "/given", "beyond the schema"],
    [given({ layers: [[2, 2, 4, 0]] }), 422, "/given", "beyond the schema"], [given({ layers: [[2, 2, 2, 2]], colour: 1 }), 400, "/given/colour"],
    [given({ layers: [[2, 2, 2, 2]], recompute: { full: [[3, 0, 0, 0]] } }), 422, "/given/recompute", "beyond the schema"],
    [given({ layers: [[2, 2, 2, 2]], recompute: { comm: [[1, 0, 0, 0]] } }), 422, "/given", "beyond the schema"],
    // four times 2^62 layers too many are none too many in 64 bits
    [given({ offset: 2 ** 62 }), 422, "/given/offset"], [given({ offset: 1 }), 422, "/given/offset"],
    [given({ offset: "0" }), 400, "/given/offset"], [given({ offset: [0, 0, 1, 0] }), 422, "/given", "beyond the schema"],
    [given({ offset: [0, 0, 0, 0], recompute: [9, 0, 0, 0] }), 422, "/given", "beyond the schema"],
    [given({ pipeline_model_parallel_layout: 7 }), 400, "/given/pipeline_model_parallel_layout"],
    ...["", "Ett|tt|tt|tt", "Ett|tt|ttttL", "Ett|(tt|*2ttL", "Et*0|tt|tt|t*4L", "Ett|tt|xt|ttL", "Et*99999999|tt|tt|tL", "E(t*9999)*9999|||L"]
      .map((text) => [given({ pipeline_model_parallel_layout: text }), 422, "/given/pipeline_model_parallel_layout", "beyond the schema"]),
    [{ layers: undefined, format: "sapp" }, 400, "/layers_file"], [{ layers_file: SAPP }, 400, "/layers", "beyond the schema"],
    [{ ...sapp({}), format: "xml" }, 422, "/format"], [{ layers: undefined, layers_file: {} }, 400, "/layers_file/layers_description"],
    [sapp({ type: "FOOT" }), 422, "/layers_file/layers_description/1/type"], [sapp({ nb_layer: 0 }), 422, "/layers_file/layers_description/1/nb_layer"],
    [sapp({ time: undefined }), 400, "/layers_file/layers_description/1/time"], [sapp({ time: -1 }), 422, "/layers_file/layers_description/1/time"],
    [sapp({ memory_activation: undefined }), 400, "/layers_file/layers_description/1/memory_activation"],
    [sapp({ memory_parameter: "9" }), 400, "/layers_file/layers_description/1/memory_parameter"],
  ]) {
    const { status: is, json } = await ask(more);
    assert.equal(is, status, JSON.stringify([more, json]));
    assert.equal(json.errors[0].pointer, pointer, JSON.stringify(json));
    // what is of the wrong shape, or out of its range, the schema refuses as well
    if (!beyond) assert.notDeepEqual(errorsOf(kind.schema, kind.schema, JSON.parse(JSON.stringify({ ...PROBLEM, ...more }))), [], JSON.stringify(more));
  }
});

// Requests put together at random from parts that are right and parts that are not: whoever takes one, the schema or the service, the
// other one does too. Seed fixed; parts that only together are wrong are left out.
test("the schema and the service agree", async () => {
  let seed = 7;
  const pick = (list) => list[(seed = (seed * 1103515245 + 12345) % 2147483648) % 1009 % list.length];
  const members = {
    stages: [4, 4, 4, 2, 0, "4", 2.5, 1025], micro_batches: [8, 8, 12, 0, -8, [8]], memory_bytes: [undefined, 200, [200, 200, 200, 200], -1, "200", [], ["200"]],
    objective: [undefined, "makespan", "bottleneck", "time", 3], allow_empty: [undefined, true, false, "no"], constant_bytes: [undefined, 5, -5, "5", 1e19],
    recompute_cost: [undefined, {}, { full: 0.4 }, { full: 0.4, comm: 0.1 }, { none: 0 }, { full: -1 }, []], send_seconds: [undefined, 0, 0.5, -1, "1", []],
    head: [undefined, {}, { forward: 1 }, { forward: 1, backward: 3, parameters_bytes: 9, name: "e" }, { forward: -1 }, { time: 1 }, 7], method: [undefined, "bmpipe", "even", "odd"],
    slices: [undefined, 1, 0, "1"], schedule: [undefined, "1f1b", "gpipe", 1], colour: [undefined, undefined, undefined, undefined, 1],
  };
  const parts = {
    count: [8, 8, 9, 0, "8", 1025], forward: [1, 2.5, -1, undefined, "1", 0], backward: [undefined, 2, 0, { none: 2 }, { none: 2, full: 4 }, { all: 2 }, -2, [2]],
    parameters_bytes: [3, 0, -3, "3"], activation_bytes: [{ none: 4 }, { none: 4, select: 3, full: 0 }, { full: 1 }, {}, 4, { none: "4" }],
    weight_gradient: [undefined, 0.5, -1], name: [undefined, "x", 7],
  };
  // mostly right: the first values of a list are taken more often than the last
  const make = (from) => Object.fromEntries(Object.entries(from).map(([k, list]) => [k, pick([0, 0, 0, 0, 0, 0, 0, 0, 0, 1]) ? pick(list) : list[0]]));
  let taken = 0, refused = 0;
  for (let i = 0; i < 300; i++) {
    const request = JSON.parse(JSON.stringify({ kind: "pipeline", ...make(members), layers: [make(parts), make(parts)] }));
    const { status, json } = await s.post("/v1/plans", request);
    const errors = errorsOf(kind.schema, kind.schema, request);
    // one memory a stage is for four stages
    if (status === 422 && Array.isArray(request.memory_bytes) && request.stages !== 4) continue;
    const fits = status === 201 || status === 200 || json.code === "infeasible";
    assert.equal(errors.length === 0, fits, JSON.stringify([request, errors, json]));
    if (fits) taken++;
    else refused++;
  }
  assert.ok(taken > 60 && refused > 60, `${taken} ${refused}`);
});

// JSON knows no largest number; a double does. Also whole ones: 2^63 and more.
test("a number beyond all bounds is told with its member", async () => {
  for (const [from, to, pointer] of [
    ['"forward":1', '"forward":1e999', "/layers/0/forward"], ['"forward":1', '"forward":-1e999', "/layers/0/forward"], ['"none":4', '"none":2E+400', "/layers/0/activation_bytes/none"],
    ['"micro_batches":8', '"micro_batches":99999999999999999999', "/micro_batches"], ['"name":"decoder","count":8', '"name":"\\"1e999","count":1e309', "/layers/0/count"],
  ]) {
    const text = JSON.stringify(PROBLEM);
    const body = text.replace(from, to);
    assert.notEqual(body, text);
    const { status, json } = await s.request("POST", "/v1/plans", { headers: { "Content-Type": "application/json" }, body });
    assert.equal(status, 422, JSON.stringify(json));
    assert.equal(json.errors[0].pointer, pointer);
  }
  const { status, json } = await s.request("POST", "/v1/plans", { headers: { "Content-Type": "application/json" }, body: '{"kind": 1e999, ]' });
  assert.equal(status, 400);
  assert.equal(json.code, "bad_json");
});

// All recomputed, stage s of four holds n layers in 10 n + (4 - s) n bytes: two on each need 28 at most, and 27 do not hold three on
// the last one (33).
test("too little memory: the least, and what would do", async () => {
  const { status, json } = await ask({ memory_bytes: 27 });
  assert.equal(status, 422);
  assert.equal(json.code, "infeasible");
  assert.equal(json.least_memory_bytes, 28);
  assert.deepEqual(json.nearest, { memory_bytes: 28 });
  assert.equal(json.errors[0].pointer, "/memory_bytes");
  assert.equal((await ask({ memory_bytes: 28 })).status, 201);
  // of several stages those that have less: 1 + 2 + 2 + 1 layers
  const uneven = await ask({ memory_bytes: [27, 30, 27, 20] });
  assert.deepEqual([uneven.json.least_memory_bytes, uneven.json.nearest], [28, { memory_bytes: [28, 30, 28, 28] }]);
  // a plan of one's own: what it needs, 20 + 4 * 2 * 4 on stage 0
  const own = await ask({ memory_bytes: 27, ...given({ layers: [2, 2, 2, 2] }) });
  assert.deepEqual([own.json.least_memory_bytes, own.json.nearest], [52, { memory_bytes: 52 }]);
});

// 1024 layers of 1e18 bytes, and the activations of one micro-batch as much again: more than 64 bits hold.
test("the least memory of the largest model", async () => {
  const { status, json } = await ask({ stages: 1, memory_bytes: 1, ...layer({ count: 1024, parameters_bytes: 1e18, activation_bytes: { none: 1e18 } }) });
  assert.equal(status, 422);
  assert.equal(json.least_memory_bytes, 2 * 1024e18);
  assert.equal(json.nearest.memory_bytes, 2 * 1024e18);
});

// What is near is feasible, and the least is the least. Without chunks seven layers on stage 0 need 7 * 2 + 2 * 7 and nine on stage 1
// 9 * 2 + 9: 28 will do; with four chunks Megatron's order keeps 9 and 7 chunks in flight.
test("the nearest change is one that helps", async () => {
  const problem = { stages: 2, micro_batches: 8, interleave: 4, ...layer({ count: 16, parameters_bytes: 2 }) };
  const { status, json } = await ask({ ...problem, memory_bytes: 29 });
  assert.equal(status, 422);
  assert.equal((await ask({ ...problem, memory_bytes: json.least_memory_bytes })).status, 201);
  assert.equal((await ask({ ...problem, memory_bytes: json.least_memory_bytes - 1 })).status, 422);
  const { memory_bytes, ...change } = json.nearest;
  assert.equal(memory_bytes, json.least_memory_bytes);
  assert.ok(change.interleave >= 1 && change.interleave < 4, JSON.stringify(json.nearest));
  assert.equal((await ask({ ...problem, memory_bytes: 29, ...change })).status, 201);
});

test("the methods of others: each has a plan, and says what it is against the exact one", async () => {
  assert.deepEqual([...kind.methods].sort(), kind.schema.properties.method.enum.toSorted());
  for (const method of ["pipedream", "adapipe", "autopipe", "merak", "alpa", "even", "random"]) {
    const { status, json } = await ask({ method, memory_bytes: 40, micro_batches: 12, tail: { forward: 1 } });
    assert.equal(status, 201, JSON.stringify(json));
    assert.equal(json.method, method);
    assert.equal(sum(json.solution.layers), 8);
    assert.ok(json.predicted.memory_bytes.every((b) => b <= 40));
    const best = json.alternatives.find((a) => a.method === "bmpipe");
    assert.ok(best.predicted.bottleneck <= json.predicted.bottleneck * (1 + 1e-9));
    assert.ok(Math.abs(best.loses_by - (best.predicted.makespan / json.predicted.makespan - 1)) < 1e-9);
    assert.ok(json.quality.lower_bound === null || json.quality.lower_bound <= json.quality.value);
  }
  // what a method does not know is told with the member
  for (const [more, pointer] of [[{ method: "pipedream", interleave: 2 }, "/interleave"], [{ method: "adapipe", schedule: "gpipe" }, "/schedule"]]) {
    const { status, json } = await ask(more);
    assert.deepEqual([status, json.errors[0].pointer], [422, pointer]);
  }
});

// Two stages, two micro-batches, a layer of 1 and 2 on each, and a hop of 1. Stage 0 F 0-1, 1-2; stage 1 F 2-3, B 3-5, F 5-6, B 6-8;
// stage 0 B 6-8, 9-11. Serial, the hop is work of both: stage 0 F 0-1, sends 1-2, F 2-3, sends 3-4; stage 1 receives 1-2 after the
// sending began, F 2-3, B 3-5, sends 5-6, receives 6-7, F 7-8, B 8-10, sends 10-11; stage 0 receives 5-6, B 6-8, receives 10-11, B 11-13.
test("a transfer delays, or keeps both of its devices busy", async () => {
  const problem = { stages: 2, micro_batches: 2, send_seconds: 1, memory_bytes: undefined, ...layer({ count: 2 }) };
  for (const [communication, makespan] of [[undefined, 11], ["overlapped", 11], ["serial", 13]]) {
    const { status, json } = await ask({ ...problem, communication });
    assert.deepEqual([status, json.predicted?.makespan], [201, makespan], communication);
  }
  // PipeDream's slowest stage: 3 and two transfers of 1 of it, in each way
  const { json } = await ask({ ...problem, method: "pipedream", communication: "serial" });
  assert.equal(json.quality.value, 5);
  assert.equal((await ask({ communication: "loud" })).json.errors[0].pointer, "/communication");
});

// Four layers of 6, 2, 2, 2 on four machines, 100 bytes a second, 1000 bytes of weights in the last one: three copies of a stage of the
// others take 10 / 3. In one stage of four copies: (12 + 4 * 3 * 1000 / 400) / 4 = 10.5 (test_pipedream_replicate.c).
test("pipedream shares out the machines of a network", async () => {
  const layers = [{ forward: 2, backward: 4, weights_bytes: 0 }, { forward: 1, backward: 1, weights_bytes: 0, count: 2 }, { forward: 1, backward: 1, weights_bytes: 1000 }];
  const problem = { kind: "pipeline", method: "pipedream", levels: [{ machines: 4, bytes_per_second: 100 }], layers };
  assert.deepEqual(errorsOf(kind.schema, kind.schema, problem), []);
  const { status, json } = await s.post("/v1/plans", problem);
  assert.equal(status, 201, JSON.stringify(json));
  assert.deepEqual(json.solution, { layers: [[3, 1]], replicas: [3, 1], replicas_by_level: [[3], [1]] });
  assert.ok(Math.abs(json.predicted.bottleneck - 10 / 3) < 1e-12);
  assert.equal(json.predicted.data_parallel_bottleneck, 10.5);
  assert.equal(json.quality.optimal, true);
  for (const [more, is, pointer] of [
    [{ levels: [] }, 422, "/levels"], [{ levels: 4 }, 400, "/levels"], [{ levels: [{ machines: 0, bytes_per_second: 1 }] }, 422, "/levels/0/machines"],
    [{ layers: undefined }, 400, "/layers"], [{ layers: [{ forward: 1 }] }, 400, "/layers/0/weights_bytes"], [{ stages: 4 }, 400, "/stages"],
    [{ layers: [{ ...layers[0], output_bytes: 1 }, layers[1]] }, 422, "/layers"], [{ memory_bytes: 5 }, 400, "/layers/0/parameters_bytes"],
    [{ memory_bytes: 5, layers: [{ forward: 1, weights_bytes: 6, parameters_bytes: 6, activation_bytes: { none: 0 } }] }, 422, "/memory_bytes"],
  ]) {
    const answer = await s.post("/v1/plans", { ...problem, ...more });
    assert.deepEqual([answer.status, answer.json.errors[0].pointer], [is, pointer], JSON.stringify([more, answer.json]));
    if (pointer === "/memory_bytes") assert.equal(answer.json.least_memory_bytes, 6);
  }
});

// Merak's own schedule, where none is asked for
test("merak recomputes before the gradient comes", async () => {
  const problem = { method: "merak", memory_bytes: 60, micro_batches: 8 };
  const { status, json } = await ask(problem);
  assert.equal(status, 201, JSON.stringify(json));
  assert.equal(json.solution.schedule, "1f1b-early-recompute");
  const plain = await ask({ ...problem, schedule: "1f1b" });
  assert.equal(plain.json.solution.schedule, "1f1b");
});

// 16 stages of 4 chunks are 64 cells, and 61 layers cannot fill them; 3 chunks are 48.
test("more stages than layers is said at once", async () => {
  const { status, json } = await ask({ stages: 16, micro_batches: 32, interleave: 4, ...layer({ count: 61 }) });
  assert.equal(status, 422);
  assert.equal(json.code, "infeasible");
  assert.match(json.detail, /61 layers cannot fill 64 stages/);
  assert.deepEqual(json.nearest, { allow_empty: true, interleave: 3 });
});

// Two stages, two micro-batches; five layers before and three behind the cut; two of the five recompute all, at half of their backward
// more. Stage 0: F 5, B 3 * 2 + 2 * 3 = 12; stage 1: F 3, B 6. Stage 0 runs F 0-5, F 5-10; stage 1 F 5-8, B 8-14, F 14-17, B 17-23;
// stage 0 B 14-26, B 26-38. Stage 0 keeps two micro-batches of 3 * 4 + 2 * 1 bytes beside 50; stage 1 one of 12 beside 30.
test("a plan of one's own is scored, whoever's words it is told in", async () => {
  const solutions = [];
  for (const plan of [
    { layers: [[5, 3]], recompute: { full: [[2, 0]] } }, { layers: [5, 3], recompute: { none: [3, 3], full: [2, 0] } },
    { offset: [1, -1], recompute: [2, 0] }, { offset: [[1, -1]], recompute: [[2, 0]], select_recompute: [[2, 0]], select_comm_recompute: false },
    { pipeline_model_parallel_layout: "Et*5|tttL", recompute: { full: [2, 0] } },
    { pipeline_model_parallel_layout: "E,(t)*5|,t*2,m,L", recompute: { full: [[2, 0]] } },
  ]) {
    assert.deepEqual(errorsOf(kind.schema, kind.schema, { ...PROBLEM, ...given(plan) }), []);
    const { status, json } = await ask({ stages: 2, micro_batches: 2, ...given(plan) });
    assert.equal(status, 201, JSON.stringify(json));
    assert.deepEqual(json.predicted.memory_bytes, [78, 42]);
    assert.equal(json.predicted.makespan, 38);
    assert.equal(json.predicted.bottleneck, 17);
    assert.equal(json.quality.optimal, null);
    assert.equal(json.quality.lower_bound, null);
    solutions.push(json.solution);
    // against it the best: the same cut, nothing recomputed. The last stage ends its backwards at 5 + 9 = 14 and 23, the first one at
    // 24 and 34; four and four would take (m + p - 1) * 12 = 36
    const best = json.alternatives.find((a) => a.method === "bmpipe");
    assert.equal(best.predicted.makespan, 34);
    assert.deepEqual(best.diff, { layers: [[0, 0]], recompute: { none: [[2, 0]], full: [[-2, 0]] } });
    assert.ok(Math.abs(best.loses_by - (34 / 38 - 1)) < 1e-12);
  }
  for (const s of solutions) assert.deepEqual(s, solutions[0]);
  // the other way round: the user's plan beside the best
  const { json } = await ask({ stages: 2, micro_batches: 2, given: { offset: [1, -1], recompute: [2, 0] } });
  const own = json.alternatives.find((a) => a.method === "given");
  assert.deepEqual(own.solution, solutions[0]);
  assert.match(own.reason, /slowest stage takes 17 .* instead of 15/);
  // it needs 78 bytes
  const tight = await ask({ stages: 2, micro_batches: 2, memory_bytes: 77, ...given({ offset: [1, -1], recompute: [2, 0] }) });
  assert.equal(tight.status, 422);
  assert.equal(tight.json.code, "infeasible");
  assert.match(tight.json.detail, /stage 0 of the plan needs 78 bytes, and has 77/);
});

// Of layers that recompute all, select_recompute and select_comm_recompute count as well; what both count beyond them recomputes both.
test("the lists of MindFormers count one upon the other", async () => {
  const { json } = await ask({
    stages: 2, micro_batches: 2, ...layer({ activation_bytes: { none: 4, select: 3, comm: 3, both: 2, full: 1 } }),
    ...given({ offset: 0, recompute: [1, 0], select_recompute: [3, 1], select_comm_recompute: [2, 2] }),
  });
  assert.deepEqual(json.solution.recompute, { none: [[1, 2]], select: [[1, 0]], comm: [[0, 1]], both: [[1, 1]], full: [[1, 0]] });
});

// time is the forward, a backward is twice that, recompute_coef a share of it; memory_select_rec of 0 is not offered; megabytes are 1e6.
test("a layer file of SAPP", async () => {
  const { status, json } = await ask({ ...sapp({}), stages: 2, ...given({ offset: 0, recompute: [1, 0] }) });
  assert.equal(status, 201, JSON.stringify(json));
  assert.deepEqual(Object.keys(json.solution.recompute), ["none", "full"]);
  // stage 0: F 1 + 8, B 2 + 3 * 4 + 5 = 19; stage 1: F 8 + 3, B 22
  assert.equal(json.predicted.bottleneck, 33);
  // 5 + 100 + 4 * 10 + 2 * (3 * 4 + 1); 5 + 200 + 40 + 16
  assert.deepEqual(json.predicted.memory_bytes, [171e6, 261e6]);
});

test("exports come back as the same plan", async () => {
  const cases = [
    { stages: 4, micro_batches: 8, memory_bytes: 60, ...layer({ count: 13, activation_bytes: { none: 4, select: 3, both: 2, full: 1 } }) },
    { stages: 3, micro_batches: 6, interleave: 2, memory_bytes: 90, ...layer({ count: 17, activation_bytes: { none: 4, both: 2, full: 1 } }), tail: { forward: 2 } },
    { stages: 2, micro_batches: 4, interleave: 2 }, { stages: 2, micro_batches: 4, schedule: "zb-v" },
  ];
  for (const problem of cases) {
    const { status, json: plan } = await ask(problem);
    assert.equal(status, 201, JSON.stringify(plan));
    const take = async (format) => {
      const answer = await s.get(`/v1/plans/${plan.id}/export?format=${format}`);
      return { ...answer, text: answer.body.toString() };
    };
    const yaml = await take("mindformers");
    assert.match(yaml.headers["content-type"], /yaml/);
    const list = (name) => JSON.parse(new RegExp(`^ +${name}: (.*)$`, "m").exec(yaml.text)[1]);
    const names = ["offset", "recompute", "select_recompute", "select_comm_recompute"];
    const back = await ask({ ...problem, ...given(Object.fromEntries(names.map((n) => [n, list(n)]))) });
    assert.deepEqual(back.json.solution, plan.solution, yaml.text);
    assert.equal(list("pp_interleave_num"), plan.solution.interleave);
    assert.equal(list("pipeline_stage"), problem.stages);

    const args = await take("megatron");
    if (problem.schedule) assert.equal(args.status, 422);
    else if (problem.interleave && !problem.tail) assert.match(args.text, /^--num-layers-per-virtual-pipeline-stage 2$/m);
    else {
      const text = /^--pipeline-model-parallel-layout "(.*)"$/m.exec(args.text)[1];
      const told = await ask({ ...problem, ...given({ pipeline_model_parallel_layout: text, recompute: plan.solution.recompute }) });
      assert.deepEqual(told.json.solution, plan.solution, text);
    }

    const file = (await take("sapp")).json;
    const again = await ask({ ...problem, layers: undefined, tail: undefined, format: "sapp", layers_file: file });
    assert.deepEqual([again.json.solution, again.json.predicted], [plan.solution, plan.predicted]);
    assert.equal((await take("cobol")).status, 400);
  }
});

// The lists count from a stage's first layer on: two layers of which one recomputes select and one comm would read as one that does
// both. Then both do both, which keeps no more.
test("what MindFormers cannot tell apart keeps less", async () => {
  const { json } = await ask({
    stages: 2, micro_batches: 2, ...layer({ activation_bytes: { none: 4, select: 3, comm: 3, both: 2, full: 1 } }),
    ...given({ layers: [4, 4], recompute: { select: [1, 1], comm: [1, 0], full: [1, 0] } }),
  });
  const yaml = (await s.get(`/v1/plans/${json.id}/export?format=mindformers`)).body.toString();
  assert.match(yaml, /select_recompute: \[\[3, 1\]\]\n/);
  assert.match(yaml, /select_comm_recompute: \[\[3, 0\]\]\n/);
  assert.match(yaml, /# where the plan has layers that recompute select and others comm/);
});

// Two types in one stage; the first is kept, the second recomputes: the list would recompute the first layer.
test("types of layers, and what lists that count from the first layer cannot say", async () => {
  const layers = [{ ...LAYER, name: "dense", count: 3 }, { ...LAYER, name: "moe", count: 5, forward: 2 }];
  const types = (dense, moe) => ({ types: [{ layers: [3, 0], recompute: { full: [dense, 0] } }, { layers: [1, 4], recompute: { full: [moe, 0] } }] });
  const yaml = async (plan) => {
    const { status, json } = await ask({ stages: 2, micro_batches: 2, layers, ...given(plan) });
    assert.equal(status, 201, JSON.stringify(json));
    assert.deepEqual(json.solution.types.map((t) => t.layers), [[[3, 0]], [[1, 4]]]);
    assert.deepEqual(json.solution.layers, [[4, 4]]);
    return (await s.get(`/v1/plans/${json.id}/export?format=mindformers`)).body.toString();
  };
  assert.match(await yaml(types(0, 1)), /# MindFormers recomputes the first layers/);
  const plain = await yaml(types(1, 0));
  assert.doesNotMatch(plain, /#/);
  assert.match(plain, / recompute: \[\[1, 0\]\]/);
  for (const plan of [
    { types: [{ layers: [2, 1] }, { layers: [2, 3] }] }, { types: [{ layers: [3, 0] }, { layers: [1, 3] }] }, { types: [{ layers: [3, 0] }] },
  ]) assert.equal((await ask({ stages: 2, micro_batches: 2, layers, ...given(plan) })).status, 422, JSON.stringify(plan));
  // a plan of several types, by a search: all of both, in their order
  const { json } = await ask({ stages: 4, layers, memory_bytes: 60 });
  assert.deepEqual(json.solution.types.map((t) => sum(t.layers)), [3, 5]);
  assert.deepEqual(json.solution.types.map((t) => t.name), ["dense", "moe"]);
});

// Megatron recomputes as many layers in every stage, and all of a layer or a fixed part of it.
test("what Megatron cannot say stands in a comment", async () => {
  const lines = async (more) => {
    const { json } = await ask({ stages: 2, micro_batches: 2, ...layer({ activation_bytes: { none: 4, select: 3, comm: 3, full: 1 } }), ...more });
    return (await s.get(`/v1/plans/${json.id}/export?format=megatron`)).body.toString().trim().split("\n");
  };
  assert.deepEqual(await lines(given({ offset: 0, recompute: [2, 2] })), ["--num-layers 8", "--pipeline-model-parallel-size 2",
    "--recompute-granularity full", "--recompute-method block", "--recompute-num-layers 2"]);
  assert.deepEqual(await lines(given({ offset: 0, select_recompute: true })), ["--num-layers 8", "--pipeline-model-parallel-size 2", "--recompute-granularity selective"]);
  const uneven = await lines(given({ offset: [1, -1], recompute: [2, 0], select_comm_recompute: [3, 0] }));
  assert.ok(uneven.includes('--pipeline-model-parallel-layout "Et*5|t*3L"') && uneven.includes("--recompute-num-layers 2"));
  assert.equal(uneven.filter((l) => l.startsWith("# ")).length, 3);
  assert.equal((await lines({ schedule: "gpipe" })).at(-1), "# Megatron has no schedule gpipe: it runs 1F1B");
});

// All layers tell their weights' gradient: schedules that split the backward are tried. No plan is above the memory, none of the
// alternatives is quicker, and what is named is kept to.
test("the best of all schedules, and the others beside it", async () => {
  const problem = { method: "best", stages: 4, micro_batches: 16, memory_bytes: 110, ...layer({ count: 22, weight_gradient: 1 }), tail: { forward: 1, parameters_bytes: 9 } };
  const { status, json } = await ask(problem);
  assert.equal(status, 201, JSON.stringify(json));
  assert.equal(json.quality.objective, "makespan");
  assert.ok(json.quality.lower_bound <= json.predicted.makespan);
  const told = json.alternatives.map((a) => `${a.method} ${a.solution.schedule} ${a.solution.interleave}`);
  assert.equal(new Set(told).size, told.length);
  for (const schedule of ["1f1b", "interleaved", "zb-h1"]) assert.ok([json, ...json.alternatives].some((a) => a.solution.schedule === schedule), schedule);
  for (const { solution, predicted, loses_by, reason } of json.alternatives) {
    assert.ok(loses_by >= 0 && reason);
    assert.ok(Math.abs(predicted.makespan - json.predicted.makespan * (1 + loses_by)) < 1e-6);
    assert.equal(sum(solution.layers), 22);
    assert.ok(predicted.memory_bytes.every((b) => b <= 110));
  }
  // each further point of the frontier takes longer, and needs less
  assert.deepEqual(json.frontier[0].solution, json.solution);
  for (const [i, f] of json.frontier.entries()) assert.ok(i === 0 || (f.seconds >= json.frontier[i - 1].seconds && f.bytes < json.frontier[i - 1].bytes));
  // the plan stands alone: told as one's own it scores the same
  const own = await ask({ ...problem, ...given(json.solution) });
  assert.deepEqual([own.json.solution, own.json.predicted], [json.solution, json.predicted]);
  const beside = await ask({ ...problem, given: { offset: [0, 1, 1, 0], recompute: true } });
  const told_own = beside.json.alternatives.at(-1);
  assert.deepEqual([told_own.method, told_own.solution.schedule, told_own.solution.layers], ["given", "1f1b", [[5, 6, 6, 5]]]);
  assert.ok(told_own.loses_by > 0);
  assert.equal((await s.get(`/v1/plans/${json.id}/schedule`)).status, 200);

  for (const [more, fits] of [
    [{ schedule: "1f1b" }, ({ schedule }) => schedule === "1f1b"], [{ schedule: ["gpipe", "1f1b"] }, ({ schedule }) => /^(gpipe|1f1b)$/.test(schedule)],
    [{ interleave: 2 }, ({ interleave }) => interleave === 2], [{ interleave: [1, 3] }, ({ interleave }) => interleave === 1 || interleave === 3],
    [{ schedule: "interleaved", interleave: [2, 4] }, ({ schedule, interleave }) => schedule === "interleaved" && interleave % 2 === 0],
  ]) {
    const { status: is, json: kept } = await ask({ ...problem, ...more });
    assert.equal(is, 201, JSON.stringify(kept));
    assert.ok(kept.predicted.makespan >= json.predicted.makespan);
    for (const { solution } of [kept, ...kept.alternatives]) assert.ok(fits(solution), JSON.stringify([more, solution]));
  }
  // rows are kept to by all that is shown
  const rows = [0, 1, 2, 3].map((stage) => ({ terms: [{ stage }], at_most: 6 }));
  const bounded = await ask({ ...problem, rows });
  assert.equal(bounded.status, 201, JSON.stringify(bounded.json));
  for (const { solution } of [bounded.json, ...bounded.json.alternatives])
    for (const stage of [0, 1, 2, 3]) assert.ok(sum(solution.layers.map((row) => row[stage])) <= 6);
  const never = await ask({ ...problem, rows: [{ terms: [{ stage: 0 }], at_least: 15 }] });
  assert.deepEqual([never.status, never.json.code, never.json.errors[0].pointer], [422, "infeasible", "/rows"]);
  for (const [more, is, pointer] of [
    [{ schedule: [] }, 422, "/schedule"], [{ schedule: ["2f2b"] }, 400, "/schedule/0"], [{ schedule: 3 }, 400, "/schedule"], [{ interleave: [] }, 422, "/interleave"],
    [{ interleave: [2, "x"] }, 400, "/interleave/1"], [{ interleave: 0 }, 422, "/interleave"], [{ interleave: 1, schedule: "interleaved" }, 422, "/interleave"],
    [{ objective: "bottleneck" }, 422, "/objective"], [{ memory_bytes: 50 }, 422, "/memory_bytes"], [{ given: { layers: [[9]] } }, 422, "/given/layers/0"], [{ stages: 23 }, 422, "/stages"], [{ method: "bmpipe", interleave: [2] }, 400, "/interleave"],
  ]) {
    const { status: got, json: told } = await ask({ ...problem, ...more });
    assert.deepEqual([got, told.errors[0].pointer], [is, pointer], JSON.stringify([more, told]));
  }
});

test("the best of one schedule is a plan of that schedule, whichever it is", async () => {
  const names = kind.schema.anyOf.find((x) => x.properties.method.const === "best").properties.schedule.anyOf[0].enum;
  assert.ok(names.length > 1);
  for (const schedule of names) {
    const { status, json } = await ask({ method: "best", schedule: [schedule], slices: /terapipe|seq1f1b/.test(schedule) ? 2 : 1 });
    assert.equal(status, 201, schedule);
    assert.equal(json.solution.schedule, schedule);
    assert.equal(sum(json.solution.layers), 8);
    assert.ok(json.quality.lower_bound <= json.predicted.makespan, schedule);
  }
});

// A search may take seconds, so that a given plan that is none is told before it: also where the search would find nothing.
test("a plan that is given to be compared is read before the search", async () => {
  for (const method of ["best", "bmpipe"]) {
    const { status, json } = await ask({ method, memory_bytes: 1, given: { layers: 2 } });
    assert.equal(status, 400, JSON.stringify(json));
    assert.equal(json.errors[0].pointer, "/given/layers");
  }
});
