// Method csimd of the kind pipeline: its schema says what it takes, and its plan takes the time that it says.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { errorsOf } from "./schema.mjs";
import { Service } from "./service.mjs";

let s, schema;
before(async () => {
  s = await Service.start();
  schema = (await s.get("/v1/plan-kinds")).json.items.find((k) => k.kind === "pipeline")?.schema;
});
after(() => s.stop());

const FORM = (a, k) => ({ form: "polynomial", coefficients: { a, k, b0: 2, q: 0.25, rho: 2 } });
const TABLE = { samples: [1, 4, 16], forward: [30, 50, 150], backward: [50, 110, 320] };
const PROBLEM = { kind: "pipeline", method: "csimd", samples: 24, samples_max: 12, stages: 3,
  send_seconds: { alpha: 4, beta: [9, 3, 5, 2, 6] },
  layers: [{ name: "first", time: FORM(30, 9) }, { name: "body", count: 4, time: TABLE, parameters_bytes: 100, activation_bytes: 2 },
    { time: FORM(50, 4) }] };
const ROWS = PROBLEM.layers.flatMap((l) => Array(l.count ?? 1).fill(l));

const near = (a, b) => assert.ok(Math.abs(a - b) <= 1e-9 * Math.abs(b), `${a} is not ${b}`);

function layer(time, b, backward) {
  if (time.form) {
    const { a, k, b0, q, rho } = time.coefficients;
    return (a + k * Math.max(b, b0) + q * b * b) * (backward ? rho : 1);
  }
  const y = time[backward ? "backward" : "forward"], i = b < 4 ? 0 : 1;
  return y[i] + ((y[i + 1] - y[i]) * (b - time.samples[i])) / (time.samples[i + 1] - time.samples[i]);
}

// The recurrence, once more: stages and links in a line, forward, and then all of it the other way.
function makespan(counts, sizes, { speeds = [1, 1, 1], links = true } = {}) {
  let total = 0;
  for (const backward of [false, true]) {
    const machines = [];
    let at = 0;
    counts.forEach((n, i) => {
      const held = ROWS.slice(at, (at += n));
      machines.push((b) => held.reduce((sum, l) => sum + layer(l.time, b, backward), 0) / speeds[i]);
      const beta = PROBLEM.send_seconds.beta[at - 1];
      if (at < ROWS.length) machines.push((b) => (links ? 4 + beta * b : 0));
    });
    const end = machines.map(() => 0);
    for (const b of backward ? sizes.toReversed?.() ?? [...sizes].reverse() : sizes)
      (backward ? [...machines].reverse() : machines).forEach((m, i) => (end[i] = Math.max(end[i], end[i - 1] ?? 0) + m(b)));
    total += end.at(-1);
  }
  return total;
}

// Every division with every number of micro-batches of equal sizes.
function least(options) {
  let best = Infinity;
  for (let m = 2; m <= 24; m++) {
    const sizes = Array.from({ length: m }, (_, j) => Math.floor(24 / m) + (j < 24 % m ? 1 : 0));
    for (let a = 1; a <= 4; a++)
      for (let b = 1; a + b <= 5; b++) best = Math.min(best, makespan([a, b, 6 - a - b], sizes, options));
  }
  return best;
}

test("what fits the schema is taken, what does not is refused with its place", async () => {
  assert.ok(schema);
  const right = [PROBLEM, { ...PROBLEM, sizes: "free" }, { ...PROBLEM, search: "cross" }, { ...PROBLEM, speeds: [1, 2, 1.5] },
    { ...PROBLEM, send_seconds: 3 }, { ...PROBLEM, send_seconds: [4, 5] }, { ...PROBLEM, micro_batches: 7, schedule: "gpipe" },
    { ...PROBLEM, memory_bytes: [1000, 500, 400], constant_bytes: 10 }];
  for (const body of right) {
    assert.deepEqual(errorsOf(schema, schema, body), []);
    const { status, text } = await s.post("/v1/plans", body);
    assert.match(String(status), /^20[01]$/, text);
  }
  const table = (time) => ({ ...PROBLEM, layers: [{ count: 6, time }], send_seconds: 0 });
  const wrong = [[table({ ...TABLE, samples: [1, 4, 4] }), 422, "/layers/0/time/samples/2"],
    [table({ ...TABLE, samples: [4, 1, 16] }), 422, "/layers/0/time/samples/1"],
    [table({ ...TABLE, samples: [0, 1, 2] }), 422, "/layers/0/time/samples/0"],
    [table({ ...TABLE, samples: [1.5, 4, 16] }), 400, "/layers/0/time/samples/0"],
    [table({ ...TABLE, forward: [30, -1, 2] }), 422, "/layers/0/time/forward/1"],
    [table({ ...TABLE, forward: [30, 1e13, 2] }), 422, "/layers/0/time/forward/1"],
    [table({ ...TABLE, forward: [30, "1", 2] }), 400, "/layers/0/time/forward/1"],
    [table({ ...TABLE, forward: [30, 40] }), 422, "/layers/0/time/forward"],
    [table({ ...TABLE, backward: [30, 40] }), 422, "/layers/0/time/backward"],
    [table({ samples: [], forward: [] }), 422, "/layers/0/time/samples"],
    [table({ form: "cubic", coefficients: {} }), 422, "/layers/0/time/form"],
    [table({ form: "attention", coefficients: {} }), 422, "/layers/0/time/form"],
    [table({ form: "polynomial", coefficients: { a: -1 } }), 422, "/layers/0/time/coefficients/a"],
    [table({ form: "polynomial", coefficients: { z: 1 } }), 400, "/layers/0/time/coefficients/z"],
    [table(undefined), 400, "/layers/0/time"],
    [{ ...PROBLEM, layers: [] }, 422, "/layers"],
    [{ ...PROBLEM, layers: [{ count: 100001, time: TABLE }] }, 422, "/layers/0/count"],
    [{ ...PROBLEM, stages: 7 }, 422, "/stages"],
    [{ ...PROBLEM, stages: 4097 }, 422, "/stages"],
    [{ ...PROBLEM, samples: 1e10 }, 422, "/samples"],
    [{ ...PROBLEM, samples: undefined }, 400, "/samples"],
    [{ ...PROBLEM, micro_batches: 25 }, 422, "/micro_batches"],
    [{ ...PROBLEM, micro_batches: 1 }, 422, "/micro_batches"],
    [{ ...PROBLEM, speeds: [1, 0, 1] }, 422, "/speeds/1"],
    [{ ...PROBLEM, speeds: [1, 1] }, 422, "/speeds"],
    [{ ...PROBLEM, send_seconds: [1, 2, 3] }, 422, "/send_seconds"],
    [{ ...PROBLEM, send_seconds: { beta: [1, 2, 3, 4, -5] } }, 422, "/send_seconds/beta/4"],
    [{ ...PROBLEM, memory_bytes: [1, 2] }, 422, "/memory_bytes"],
    [{ ...PROBLEM, schedule: "1f1b" }, 422, "/schedule"],
    [{ ...PROBLEM, sizes: "odd" }, 422, "/sizes"],
    [{ ...PROBLEM, colour: 1 }, 400, "/colour"]];
  for (const [body, status, pointer] of wrong) {
    const answer = await s.post("/v1/plans", body);
    assert.equal(answer.status, status, `${pointer}: ${answer.text}`);
    assert.equal(answer.json.errors?.[0]?.pointer, pointer, answer.text);
  }
});

test("the plan takes what it says, and no other one takes less", async () => {
  for (const [more, options] of [[{}, {}], [{ speeds: [1, 2, 1.5] }, { speeds: [1, 2, 1.5] }], [{ send_seconds: undefined }, { links: false }]]) {
    const { json: plan } = await s.post("/v1/plans", { ...PROBLEM, ...more });
    const { layers, micro_batch_sizes, micro_batches } = plan.solution;
    assert.equal(layers.length, 1);
    assert.equal(micro_batch_sizes.length, micro_batches);
    near(plan.predicted.makespan, makespan(layers[0], micro_batch_sizes, options));
    near(plan.predicted.makespan, least(options));
    assert.equal(plan.quality.optimal, true);
    assert.ok(plan.quality.lower_bound <= plan.predicted.makespan);
    const [even, random] = plan.alternatives;
    assert.deepEqual([even.method, random.method], ["even", "random"]);
    assert.deepEqual(even.solution.layers, [[2, 2, 2]]);
    near(even.predicted.makespan, makespan([2, 2, 2], even.solution.micro_batch_sizes, options));
    near(even.loses_by, even.predicted.makespan / plan.predicted.makespan - 1);
    assert.ok(random.predicted.makespan >= plan.predicted.makespan);
    assert.deepEqual(plan.warnings, []);
  }
});

test("free sizes are never worse, and GPipe holds the activations of all samples", async () => {
  const free = (await s.post("/v1/plans", { ...PROBLEM, sizes: "free" })).json;
  const equal = (await s.post("/v1/plans", PROBLEM)).json;
  assert.ok(free.predicted.makespan <= equal.predicted.makespan);
  near(free.predicted.makespan, makespan(free.solution.layers[0], free.solution.micro_batch_sizes));
  assert.equal(free.solution.micro_batch_sizes.reduce((a, b) => a + b), 24);
  // the four layers of the body alone have bytes: 100 and 24 samples of 2 each
  assert.equal(equal.predicted.memory_bytes.reduce((a, b) => a + b), 4 * 148);
  // three stages hold four such layers: one has two of them, 296 bytes
  const tight = await s.post("/v1/plans", { ...PROBLEM, memory_bytes: 296 });
  assert.ok(Math.max(...tight.json.predicted.memory_bytes) <= 296);
  const none = await s.post("/v1/plans", { ...PROBLEM, memory_bytes: 295 });
  assert.equal(none.status, 422);
  assert.equal(none.json.code, "infeasible");
  assert.equal(none.json.least_memory_bytes, 296);
  assert.equal(none.json.errors[0].pointer, "/memory_bytes");
});

test("a size that no table was measured for is told", async () => {
  const { json } = await s.post("/v1/plans", { ...PROBLEM, samples: 40, samples_max: 40, micro_batches: 2 });
  assert.deepEqual(json.warnings.map((w) => w.code), ["extrapolated"]);
  assert.equal((await s.post("/v1/plans", { ...PROBLEM, layers: [{ count: 6, time: FORM(1, 1) }] })).json.predicted.memory_bytes, null);
});

test("slices of a sequence get shorter, and take what the formula says", async () => {
  const coefficients = { a: 2, k: 1, q: 0.05, rho: 0 };
  const body = { kind: "pipeline", method: "csimd", schedule: "terapipe", samples: 16, stages: 4, micro_batches: 3,
    layers: [{ count: 4, time: { form: "attention", coefficients } }] };
  assert.deepEqual(errorsOf(schema, schema, body), []);
  const { json } = await s.post("/v1/plans", body);
  let before = 0;
  const times = json.solution.slices.map((l) => {
    const t = 2 + l + 0.05 * l * (before + l / 2);
    before += l;
    return t;
  });
  assert.equal(before, 16);
  near(json.predicted.makespan, 3 * times.reduce((a, b) => a + b) + 3 * Math.max(...times));
  assert.ok(json.solution.slices[0] > json.solution.slices.at(-1));
  assert.equal(json.quality.optimal, true);
  assert.equal(json.predicted.scored_by, "simulator");
});

test("an export has the cut and the micro-batches of one size; what no launcher runs is told with what would do", async () => {
  const exported = async (problem, format) => {
    const made = await s.post("/v1/plans", problem);
    assert.ok(made.status < 300, JSON.stringify(made.json));
    const answer = await s.get(`/v1/plans/${made.json.id}/export?format=${format}`);
    return { plan: made.json, answer, text: answer.body.toString() };
  };
  // three stages of 6 layers, 24 samples in 8 micro-batches of 3
  const equal = { ...PROBLEM, micro_batches: 8, sizes: "equal" };
  const { plan, text } = await exported(equal, "megatron");
  const [counts] = plan.solution.layers, layout = `E${counts.map((n) => (n > 1 ? `t*${n}` : "t")).join("|")}L`;
  const even = new Set(counts).size === 1;
  for (const line of ["--num-layers 6", "--pipeline-model-parallel-size 3", "--micro-batch-size 3", "--global-batch-size 24", ...(even ? [] : [`--pipeline-model-parallel-layout "${layout}"`])])
    assert.ok(text.split("\n").includes(line), `${line} in\n${text}`);
  assert.match(text, /# Megatron has no schedule gpipe/);
  const { text: yaml } = await exported(equal, "mindformers");
  for (const line of ["  pipeline_stage: 3", "  micro_batch_num: 8", "    pipeline_scheduler: 'gpipe'", "    num_layers: 6", `    offset: [[${counts.map((n) => n - 2).join(", ")}]]`, "  batch_size: 3"])
    assert.ok(yaml.split("\n").includes(line), `${line} in\n${yaml}`);
  // 24 samples in 5 micro-batches are of unlike sizes
  const { answer: unequal } = await exported({ ...PROBLEM, micro_batches: 5 }, "megatron");
  assert.deepEqual([unequal.status, unequal.json.code], [422, "unequal_micro_batches"]);
  assert.match(unequal.json.detail, /"sizes": "equal"/);
  const ATTENTION = { form: "attention", coefficients: { a: 10, k: 1, b0: 2, q: 0.01, rho: 2 } };
  const { answer: slices } = await exported({ kind: "pipeline", method: "csimd", schedule: "terapipe", samples: 64, micro_batches: 2, stages: 2, layers: [{ count: 4, time: ATTENTION }] }, "mindformers");
  assert.deepEqual([slices.status, slices.json.code], [422, "no_such_schedule"]);
  assert.match(slices.json.detail, /seq1f1b/);
  const { answer: unknown } = await exported(equal, "sapp");
  assert.deepEqual([unknown.status, unknown.json.code], [400, "bad_query"]);
});
