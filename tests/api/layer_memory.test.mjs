// The kind layer-memory: the figures of SAPP's demo come back from peaks that are made of them, they are what a plan takes, and what
// the runs do not tell is said.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { errorsOf } from "./schema.mjs";
import { Service } from "./service.mjs";

let s, schema;
before(async () => {
  s = await Service.start();
  schema = (await s.get("/v1/plan-kinds")).json.items.find((k) => k.kind === "layer-memory")?.schema;
});
after(() => s.stop());

// The 16-stage demo of algorithms.md 1.3; M = constant + layers * parameters + (p - s) * activations, + head or tail.
const DEMO = { parameters: 2217, none: 1002, select: 783, comm: 695, both: 423, head: 4614, tail: 5885 };
function run(stage, none, select, comm, both, constant = 0) {
  const layers = none + select + comm + both;
  const kept = none * DEMO.none + select * DEMO.select + comm * DEMO.comm + both * DEMO.both;
  return { stage, layers, recompute: { select, comm, both },
    peak_bytes: constant + layers * DEMO.parameters + (16 - stage) * kept + (stage === 0 ? DEMO.head : stage === 15 ? DEMO.tail : 0) };
}
const demo = (constant) => [run(0, 0, 2, 0, 4, constant), run(1, 1, 2, 2, 1, constant), run(2, 0, 3, 1, 2, constant), run(5, 2, 1, 2, 2, constant),
  run(8, 3, 0, 3, 0, constant), run(11, 4, 1, 0, 1, constant), run(12, 3, 2, 1, 1, constant), run(15, 6, 0, 0, 0, constant)];
const PROBLEM = { kind: "layer-memory", stages: 16, micro_batches: 32, runs: demo(-1896) };
const ask = (more) => s.post("/v1/plans", { ...PROBLEM, ...more });
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-6 * (1 + Math.abs(b)), `${a} is not ${b}`);

test("the figures of the demo come back", async () => {
  assert.deepEqual(errorsOf(schema, schema, PROBLEM), []);
  const { status, json } = await ask({});
  assert.equal(status, 201, JSON.stringify(json));
  const { parameters_bytes, activation_bytes, head, tail, constant_bytes } = json.solution;
  near(parameters_bytes, DEMO.parameters);
  for (const kind of ["none", "select", "comm", "both"]) near(activation_bytes[kind], DEMO[kind]);
  assert.equal(activation_bytes.full, undefined);
  near(head.parameters_bytes, DEMO.head);
  near(tail.parameters_bytes, DEMO.tail);
  near(constant_bytes, -1896);
  assert.equal(json.predicted.runs.length, PROBLEM.runs.length);
  for (const [i, r] of json.predicted.runs.entries()) assert.deepEqual([r.peak_bytes, r.residual_bytes], [PROBLEM.runs[i].peak_bytes, 0]);
  assert.deepEqual(json.warnings, []);
  // so in bytes, ten million times as many
  const bytes = (await ask({ runs: PROBLEM.runs.map((r) => ({ ...r, peak_bytes: 1e7 * r.peak_bytes + 1 })) })).json;
  for (const r of bytes.predicted.runs) assert.equal(r.residual_bytes, 0);
  // without a constant the same runs do not fit, and it is said how far off
  const without = (await ask({ fit_constant: false })).json;
  assert.equal(without.solution.constant_bytes, null);
  assert.ok(without.quality.model_error > 1e-4);
});

test("they are what a plan of kind pipeline takes", async () => {
  const { parameters_bytes, activation_bytes, head, tail, constant_bytes } = (await ask({ runs: demo(0) })).json.solution;
  const { status, json } = await s.post("/v1/plans", { kind: "pipeline", stages: 16, micro_batches: 16, memory_bytes: 56000, constant_bytes,
    layers: [{ count: 96, forward: 100, parameters_bytes, activation_bytes }], head: { forward: 13, ...head }, tail: { forward: 113, ...tail } });
  assert.equal(status, 201, JSON.stringify(json));
  for (const bytes of json.predicted.memory_bytes) assert.ok(bytes <= 56000 * (1 + 1e-9));
});

test("chunks, and both ends on one stage", async () => {
  // zb-v: the second chunk goes back, so that stage 0 holds head and tail. Layers that keep nothing take their parameters alone.
  const runs = [[0, 1, 1, 500], [1, 1, 2, 0], [1, 2, 1, 0], [2, 3, 1, 0], [2, 1, 3, 0], [3, 2, 2, 0]]
    .map(([stage, a, b, ends]) => ({ stage, layers: [a, b], peak_bytes: 1000 * (a + b) + ends }));
  const { status, json } = await s.post("/v1/plans", { kind: "layer-memory", schedule: "zb-v", stages: 4, micro_batches: 8, runs });
  assert.equal(status, 201, JSON.stringify(json));
  near(json.solution.parameters_bytes, 1000);
  assert.deepEqual([json.solution.activation_bytes, json.solution.constant_bytes], [{ none: 0 }, 0]);
  assert.deepEqual([json.solution.head, json.solution.tail], [{ parameters_bytes: null }, { parameters_bytes: null }]);
  assert.match(json.warnings.find((w) => w.code === "head_and_tail_together").detail, /they take (500|499\.9|500\.0)/);
  // all peaks are met: nothing comes nearer. One that is not leaves open which moment was the peak.
  assert.equal(json.quality.optimal, true);
  const off = runs.map((r, i) => ({ ...r, peak_bytes: r.peak_bytes + (i === 1 ? 100 : 0) }));
  assert.notEqual((await s.post("/v1/plans", { kind: "layer-memory", schedule: "zb-v", stages: 4, micro_batches: 8, runs: off })).json.quality.optimal, true);
});

test("what cannot be is told with its member", async () => {
  const [first, ...rest] = demo(0);
  for (const [more, status, pointer] of [
    [{ runs: undefined }, 400, "/runs"], [{ runs: {} }, 400, "/runs"], [{ runs: [] }, 422, "/runs"], [{ stages: 0 }, 422, "/stages"],
    [{ schedule: "2f2b" }, 400, "/schedule"], [{ interleave: 2 }, 422, "/runs/0/layers"], [{ fit_constant: 1 }, 400, "/fit_constant"],
    [{ runs: [{ ...first, stage: 16 }] }, 422, "/runs/0/stage"], [{ runs: [{ ...first, peak_bytes: -1 }] }, 422, "/runs/0/peak_bytes"],
    [{ runs: [{ ...first, layers: 1 }] }, 422, "/runs/0/recompute"], [{ runs: [{ ...first, recompute: { none: 1 } }] }, 400, "/runs/0/recompute/none"],
    [{ runs: [{ ...first, colour: 1 }] }, 400, "/runs/0/colour"], [{ runs: rest.slice(0, 3) }, 422, "/runs"],
    [{ runs: [...rest, { stage: 0, layers: 2, recompute: { full: 1 }, peak_bytes: 9 }] }, 422, "/runs/7"],
    [{ runs: [1, 2, 3, 4].map((stage) => run(stage, 6, 0, 0, 0)) }, 422, "/runs"],
  ]) {
    const { status: is, json } = await ask(more);
    assert.equal(is, status, JSON.stringify([more, json]));
    assert.equal(json.errors[0].pointer, pointer, JSON.stringify(json));
  }
  const equal = await ask({ runs: [1, 2, 3, 4].map((stage) => run(stage, 6, 0, 0, 0)) });
  assert.match(equal.json.detail, /do not tell the constant from the parameters/);
});
