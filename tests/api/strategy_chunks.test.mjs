// Interleaved pipelines whose chunks differ: what an estimate takes and refuses, and what an answer tells of them.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service } from "./service.mjs";

let s;
before(async () => { s = await Service.start(); });
after(() => s.stop());

const problem = { model: "llama3-8b", cluster: { preset: "dgx-h100", nodes: 1 }, batch: { global_sequences: 16 } };
const estimate = (strategy, rest = problem) => s.post("/v1/plans", { kind: "estimate", ...rest, strategy });
const chunked = (layers) => layers.map((chunks) => ({ layers: chunks.reduce((a, b) => a + b), chunks: chunks.map((n) => ({ layers: n })) }));

test("Llama 3 405B as it was trained: 126 layers on 16 stages, the first and the last chunk one layer less", async () => {
  const { status, json } = await estimate({ dp: 128, tp: 8, pp: 16, vpp: 8, zero: 1, sequence_parallel: true },
    { model: "llama3-405b", cluster: { preset: "dgx-h100", nodes: 2048 }, batch: { global_sequences: 2048 } });
  assert.equal(status, 201, JSON.stringify(json));
});

test("chunks of a stage are said one by one, and an even cut need not be", async () => {
  const even = await estimate({ pp: 4, vpp: 2 });
  const said = await estimate({ pp: 4, vpp: 2, stages: chunked([[4, 4], [4, 4], [4, 4], [4, 4]]) });
  const whole = await estimate({ pp: 4, vpp: 2, stages: [{ layers: 8 }, { layers: 8 }, { layers: 8 }, { layers: 8 }] });
  const shorter = await estimate({ pp: 4, vpp: 2, stages: chunked([[4, 4], [4, 4], [4, 5], [4, 3]]) });
  for (const x of [even, said, whole, shorter]) assert.equal(x.status, 201, JSON.stringify(x.json));
  assert.deepEqual(said.json.predicted, even.json.predicted);
  assert.deepEqual(whole.json.predicted, even.json.predicted);
  assert.notEqual(shorter.json.predicted.step_seconds, even.json.predicted.step_seconds);
});

test("a stage recomputes as many layers of each chunk, or all that a shorter one has", async () => {
  const stages = (n) => chunked([[4, 4], [4, 4], [4, 5], [4, 3]]).map((x, i) => ({ ...x, recompute_layers: i === 3 ? n : 8 }));
  for (const [n, status] of [[7, 201], [6, 201], [2, 201], [5, 422]]) {
    const x = await estimate({ pp: 4, vpp: 2, recompute: "full", stages: stages(n) });
    assert.equal(x.status, status, JSON.stringify(x.json));
  }
});

test("what is no cut is refused where it is", async () => {
  const rows = [
    [chunked([[4, 4], [4, 4], [4, 4], [4, 5]]), "/strategy/pp"], // a layer too many
    [[{ layers: 7 }, { layers: 9 }, { layers: 8 }, { layers: 8 }], "/strategy/stages/0/layers"],
    [chunked([[4, 4], [4, 4], [4, 4], [4, 4, 0]]), "/strategy/stages/3/chunks"],
    [[...chunked([[4, 4], [4, 4], [4, 4]]), { layers: 8 }], "/strategy/stages/3/chunks"],
    [[{ layers: 9, chunks: [{ layers: 4 }, { layers: 4 }] }, ...chunked([[4, 4], [4, 4], [4, 4]])], "/strategy/stages/0/layers"],
    [[{ layers: 8, chunks: [{ layers: 4 }, { layers: 4, first_layer: 4 }] }, ...chunked([[4, 4], [4, 4], [4, 4]])], "/strategy/stages/0/chunks/1/first_layer"],
    [[{ layers: 8 }, ...chunked([[4, 4], [4, 4], [4, 4]])], "/strategy/stages/1/chunks"],
    [[8, 8, 8, 8].map((layers, i) => ({ layers, first_layer: 8 * i })), "/strategy/stages/1/first_layer"], // even: chunks of 4, the second stage from layer 4
  ];
  for (const [stages, at] of rows) {
    const { status, json } = await estimate({ pp: 4, vpp: 2, stages });
    assert.equal(status, 422, JSON.stringify(json));
    assert.ok(JSON.stringify(json).includes(`"${at}"`), JSON.stringify(json));
  }
});

test("a first layer is an integer, in whatever way it is written", async () => {
  const status = async (first, vpp) => (await estimate({ pp: 4, vpp, stages: [{ layers: 8 }, { layers: 8, first_layer: first }, { layers: 8.0 }, { layers: 8 }] })).status;
  assert.deepEqual([await status(8, 1), await status(7, 1), await status(7.5, 1), await status("8", 1), await status(-1, 1)], [201, 422, 400, 400, 422]);
  assert.deepEqual([await status(4, 2), await status(8, 2), await status(7.5, 2)], [201, 422, 400]);
  // 1e3 is a number with an exponent, which JSON readers take for no integer: it is compared all the same
  const text = (first) => `{"kind": "estimate", "model": "llama3-8b", "cluster": "dgx-h100", "batch": {"global_sequences": 8}, "strategy": {"pp": 2, "stages": [{"layers": 1.6e1}, {"layers": 16, "first_layer": ${first}}]}}`;
  const post = (body) => s.request("POST", "/v1/plans", { headers: { "Content-Type": "application/json" }, body });
  assert.deepEqual([(await post(text("1.6e1"))).status, (await post(text("1.5e1"))).status], [201, 422]);
});

test("a search finds chunks that differ, an estimate of its answer says the same, and launchers are told the cut", async () => {
  const large = { model: "llama3-405b", cluster: { preset: "dgx-h100", nodes: 2048 }, batch: { global_sequences: 2048 } };
  const { status, json: plan } = await s.post("/v1/plans", { kind: "strategy", ...large, constraints: { pp: 16, vpp: 8, offload: "none" } });
  assert.equal(status, 201, JSON.stringify(plan));
  const chunks = [];
  for (let j = 0; j < 8; j++) for (const stage of plan.solution.stages) chunks.push(stage.chunks[j]);
  let next = 0;
  for (const chunk of chunks) {
    assert.equal(chunk.first_layer, next);
    next += chunk.layers;
  }
  assert.equal(next, 126);
  for (const stage of plan.solution.stages) assert.equal(stage.chunks.reduce((sum, c) => sum + c.layers, 0), stage.layers);
  const { json } = await estimate(plan.solution, large);
  assert.ok(Math.abs(json.predicted.step_seconds - plan.predicted.step_seconds) <= 1e-9 * plan.predicted.step_seconds);
  const exported = await s.get(`/v1/plans/${plan.id}/export?format=megatron`);
  assert.match(exported.body.toString(), /--pipeline-model-parallel-layout "E,/);
});
