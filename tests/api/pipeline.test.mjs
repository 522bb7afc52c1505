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
  assert.equal(json.quality.objective, "bottleneck");
  assert.equal(json.quality.optimal, true);
  assert.equal(json.quality.lower_bound, 6);
});

test("every schedule is planned, and every plan holds all layers", async () => {
  const names = kind.schema.properties.schedule.enum;
  assert.equal(names.length, 12);
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
  for (const [more, status, pointer] of [
    [{ stages: 0 }, 422, "/stages"], [{ stages: -4 }, 422, "/stages"], [{ stages: "4" }, 400, "/stages"], [{ stages: undefined }, 400, "/stages"],
    [{ micro_batches: 0 }, 422, "/micro_batches"], [{ micro_batches: undefined }, 400, "/micro_batches"], [{ micro_batches: 4e9 }, 422, "/micro_batches"],
    [{ interleave: 0 }, 422, "/interleave"], [{ interleave: 2, schedule: "1f1b" }, 422, "/interleave"], [{ schedule: "2f2b" }, 400, "/schedule"],
    [{ slices: 2 }, 422, "/slices"], [{ layers: undefined }, 400, "/layers"], [{ layers: [] }, 422, "/layers"], [{ layers: LAYER }, 400, "/layers"],
    [{ layers: [7] }, 400, "/layers/0"], [layer({ count: 0 }), 422, "/layers/0/count"], [layer({ count: 1.5 }), 400, "/layers/0/count"],
    [layer({ forward: -1 }), 422, "/layers/0/forward"], [layer({ forward: 1e300 }), 422, "/layers/0/forward"],
    [layer({ forward: undefined }), 400, "/layers/0/forward"], [layer({ parameters_bytes: -1 }), 422, "/layers/0/parameters_bytes"],
    [layer({ activation_bytes: { full: 1 } }), 400, "/layers/0/activation_bytes/none"], [layer({ activation_bytes: 4 }), 400, "/layers/0/activation_bytes"],
    [layer({ activation_bytes: { none: 4, all: 1 } }), 400, "/layers/0/activation_bytes/all"],
    [layer({ activation_bytes: { none: -4 } }), 422, "/layers/0/activation_bytes/none"], [layer({ backward: -2 }), 422, "/layers/0/backward"],
    [layer({ backward: { none: 2, full: "3" } }), 400, "/layers/0/backward/full"], [layer({ weight_gradient: 3 }), 422, "/layers/0/weight_gradient"],
    [layer({ overlapped: 1 }), 422, "/layers/0/overlapped"], [layer({ colour: 1 }), 400, "/layers/0/colour"],
    [{ layers: [LAYER, { ...LAYER, forward: -1 }] }, 422, "/layers/1/forward"], [layer({ count: 1025 }), 422, "/layers/0/count"],
    [{ head: 3 }, 400, "/head"], [{ head: { forward: -1 } }, 422, "/head/forward"], [{ tail: { backward: "x" } }, 400, "/tail/backward"],
    [{ memory_bytes: -1 }, 422, "/memory_bytes"], [{ memory_bytes: [99, 99, 99] }, 422, "/memory_bytes"],
    [{ memory_bytes: [99, 99, -1, 99] }, 422, "/memory_bytes/2"], [{ memory_bytes: "99" }, 400, "/memory_bytes"],
    [{ send_seconds: -1 }, 422, "/send_seconds"], [{ send_seconds: [1, 1] }, 422, "/send_seconds"], [{ send_seconds: [1, 1, -1] }, 422, "/send_seconds/2"],
    [{ recompute_cost: { full: -1 } }, 422, "/recompute_cost/full"], [{ recompute_cost: { none: 0 } }, 400, "/recompute_cost/none"],
    [{ objective: "speed" }, 422, "/objective"], [{ allow_empty: 1 }, 400, "/allow_empty"], [{ constant_bytes: "1" }, 400, "/constant_bytes"],
    [{ method: "magic" }, 400, "/method"], [{ colour: 1 }, 400, "/colour"],
  ]) {
    const { status: is, json } = await ask(more);
    assert.equal(is, status, JSON.stringify([more, json]));
    assert.equal(json.errors[0].pointer, pointer, JSON.stringify(json));
  }
});

// 16 stages of 4 chunks are 64 cells, and 61 layers cannot fill them; 3 chunks are 48.
test("more stages than layers is said at once", async () => {
  const { status, json } = await ask({ stages: 16, micro_batches: 32, interleave: 4, ...layer({ count: 61 }) });
  assert.equal(status, 422);
  assert.equal(json.code, "infeasible");
  assert.match(json.detail, /61 layers cannot fill 64 stages/);
  assert.deepEqual(json.nearest, { allow_empty: true, interleave: 3 });
});
