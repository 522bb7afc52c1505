// Two-dimensional tensor parallelism: asked for, estimated, explained, and refused where it cannot run or be said.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service } from "./service.mjs";

let s;
before(async () => { s = await Service.start(); });
after(() => s.stop());

const problem = { model: { preset: "llama3-70b" }, cluster: { preset: "dgx-h100", nodes: 4 }, batch: { global_sequences: 64 } };
const estimate = async (strategy) => (await s.post("/v1/plans", { kind: "estimate", ...problem, strategy: { dp: 4, pp: 1, sequence_parallel: true, ...strategy } }));

test("a grid is as many ranks as one dimension, keeps as much and exchanges otherwise", async () => {
  const { json: one } = await estimate({ tp: 8 }), { status, json: grid } = await estimate({ tp_x: 2, tp_y: 4 });
  assert.equal(status, 201, JSON.stringify(grid));
  assert.deepEqual([grid.solution.tp, grid.solution.tp_x, grid.solution.tp_y], [8, 2, 4]);
  assert.equal("tp_x" in one.solution, false);
  assert.equal(grid.predicted.memory.activations, one.predicted.memory.activations);
  assert.deepEqual(grid.explanation.traffic.filter((t) => t.between.startsWith("tensor")).map((t) => [t.between, t.ranks]), [["tensor", 8], ["tensor_x", 2], ["tensor_y", 4]]);
  assert.deepEqual(one.explanation.traffic.filter((t) => t.between.startsWith("tensor")).map((t) => [t.between, t.ranks]), [["tensor", 8]]);
  // K and V go round the ranks of x; in one dimension each has all tokens
  assert.equal(grid.explanation.traffic.find((t) => t.between === "context").ranks, 2);
  // What one says of it is enough.
  for (const same of [{ tp: 8, tp_x: 2 }, { tp: 8, tp_y: 4 }, { tp: 8, tp_x: 2, tp_y: 4 }])
    assert.equal((await estimate(same)).json.predicted.step_seconds, grid.predicted.step_seconds, JSON.stringify(same));
  assert.equal((await estimate({ tp: 8, tp_x: 1 })).json.predicted.step_seconds, one.predicted.step_seconds);
});

test("what is no grid is refused where it is wrong", async () => {
  for (const [strategy, word, field] of [
    [{ tp: 8, tp_x: 3 }, "tensor_grid", "/strategy/tp_x"], [{ tp: 8, tp_x: 2, tp_y: 2 }, "tensor_grid", "/strategy/tp_x"],
    [{ tp: 8, tp_x: 2, sequence_parallel: false }, "tensor_grid", "/strategy/tp_x"], [{ tp_x: 2, tp_y: 4, attention: "unfused" }, "tensor_grid", "/strategy/tp_x"],
    [{ tp_x: 1, tp_y: 16, dp: 2 }, "heads_division", "/strategy/tp"], [{ tp_x: 0 }, "out_of_range", "/strategy/tp_x"]]) {
    const { status, json } = await estimate(strategy);
    assert.equal(status, 422, JSON.stringify(strategy));
    assert.deepEqual([json.code, json.errors?.[0].pointer], [word, field], JSON.stringify(strategy));
  }
  // 8 heads of K and V: 16 ranks are of use in a grid alone
  assert.equal((await estimate({ tp_x: 2, tp_y: 8, dp: 2 })).status, 201);
});

test("the search tries grids where it is asked to, and exports say one where the launcher has it", async () => {
  const request = { kind: "strategy", ...problem };
  const { json: plain } = await s.post("/v1/plans", request), { json: wider } = await s.post("/v1/plans", { ...request, constraints: { tensor: "2d" } });
  const { json: one } = await s.post("/v1/plans", { ...request, constraints: { tensor: "1d" } });
  const { status, json: set } = await s.post("/v1/plans", { ...request, constraints: { tp_x: 2, offload: "none" } });
  assert.equal(one.quality.candidates, plain.quality.candidates);
  assert.equal(one.predicted.step_seconds, plain.predicted.step_seconds);
  assert.ok(wider.quality.candidates > plain.quality.candidates && wider.predicted.step_seconds <= plain.predicted.step_seconds);
  assert.equal(status, 201, JSON.stringify(set));
  assert.equal(set.solution.tp_x, 2);
  assert.ok(set.predicted.step_seconds >= wider.predicted.step_seconds);
  const exported = (format) => s.get(`/v1/plans/${set.id}/export?format=${format}`);
  assert.deepEqual([(await exported("megatron")).status, (await exported("megatron")).json.code], [422, "tensor_grid"]);
  for (const format of ["deepspeed", "torchtitan"]) assert.equal((await exported(format)).status, 422, format);
  const said = await exported("mindformers");
  assert.equal(said.status, 200, said.body.toString());
  assert.match(said.body.toString(), /^ *tp_x: 2$/m);
  // MindSpeed calls the inner ranks, which cut heads, x; it wants more than one of both
  const arguments_ = await exported("mindspeed");
  assert.equal(arguments_.status, set.solution.tp_y > 1 ? 200 : 422);
  if (set.solution.tp_y > 1) assert.ok(arguments_.body.toString().includes(`--tp-2d\n--tp-x ${set.solution.tp_y}\n--tp-y 2\n`));
});
