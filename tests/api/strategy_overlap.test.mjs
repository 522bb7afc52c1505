// What the software stack of a strategy runs under compute: in requests, solutions, explanations and exports.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service } from "./service.mjs";

const BATCH = { global_sequences: 64 };
const EXPERTS = { kind: "estimate", model: "mixtral-8x7b", cluster: { preset: "dgx-h100", nodes: 2 }, batch: BATCH,
  strategy: { dp: 4, pp: 4, vpp: 2, ep: 4, zero: 1, attention: "flash" } };

let service;
before(async () => { service = await Service.start(); });
after(() => service.stop());

const told = (words, more = {}) => ({ ...EXPERTS, strategy: { ...EXPERTS.strategy, ...more, overlap: words } });
async function solved(request) {
  const answer = await service.post("/v1/plans", request);
  assert.ok([200, 201].includes(answer.status), answer.body.toString());
  return answer.json;
}
async function exported(plan, format) {
  const answer = await service.get(`/v1/plans/${plan.id}/export?format=${format}`);
  assert.equal(answer.status, 200, answer.body.toString());
  return answer.body.toString();
}
const traffic = (plan, between) => plan.explanation.traffic.find((row) => row.between === between);

test("the default overlaps gradients from ZeRO 1 on, as before", async () => {
  const plan = await solved(EXPERTS);
  assert.deepEqual(plan.solution.overlap, ["gradients"]);
  assert.equal(plan.solution.overlap_gradients, true);
  assert.equal(plan.solution.dispatch_dtype, "bf16");
  const same = await solved(told(["gradients"]));
  assert.equal(same.predicted.step_seconds, plan.predicted.step_seconds);
  assert.deepEqual((await solved({ ...EXPERTS, strategy: { ...EXPERTS.strategy, zero: 0 } })).solution.overlap, []);
});

test("what is hidden and what is exposed", async () => {
  const plain = await solved(EXPERTS);
  const paired = await solved(told(["gradients", "expert", "sends"], { dispatch_dtype: "fp8" }));
  assert.ok(paired.predicted.step_seconds < plain.predicted.step_seconds);
  assert.ok(paired.predicted.memory.activations > plain.predicted.memory.activations);
  const [exposed, hidden] = [traffic(plain, "expert"), traffic(paired, "expert")];
  assert.ok(Math.abs(exposed.exposed_seconds - exposed.seconds) < 1e-9 * exposed.seconds);
  assert.ok(exposed.hidden_seconds < 1e-9 * exposed.seconds);
  assert.ok(hidden.hidden_seconds > 0);
  assert.ok(Math.abs(hidden.hidden_seconds + hidden.exposed_seconds - hidden.seconds) < 1e-9 * hidden.seconds);
  assert.equal(hidden.exposed_seconds, paired.predicted.breakdown.expert_parallel_seconds);
  // one of two directions in 8 bit: 3/4 of the bytes
  assert.ok(Math.abs(hidden.bytes / exposed.bytes - 0.75) < 1e-9);
  assert.ok(traffic(paired, "pipeline").hidden_seconds > 0);
});

// 64 experts' ranks on 8 nodes, a group each: of 8 copies of a token 7 leave the node by themselves, and 4 (1 - 1/8) where it goes
// once to each of 4 nodes. Links without latency; 45 us to start beside 90 ms or more.
test("a token goes once to each node that has some of its experts", async () => {
  const link = (scope, bytes_per_second) => ({ scope, bytes_per_second, latency_seconds: 0 });
  const moe = { experts: 64, top_k: 8, ffn_hidden: 1024 };
  const model = { layers: 4, hidden: 8192, heads: 64, ffn_hidden: 8192, gated_ffn: true, vocab: 32000, seq_len: 8192 };
  const ask = (more) => service.post("/v1/plans", { kind: "estimate", model: { ...model, moe: { ...moe, ...more } }, batch: BATCH,
    cluster: { nodes: 8, devices_per_node: 8, device: "h100-80g", links: [link("node", 450e9), link("cluster", 10e9)] },
    strategy: { dp: 64, ep: 64, zero: 1 } });
  const apart = await ask({}), once = await ask({ n_group: 8, topk_group: 4 }), any = await ask({ n_group: 8, topk_group: 8 });
  for (const a of [apart, once, any]) assert.ok([200, 201].includes(a.status), a.body.toString());
  assert.ok(Math.abs(traffic(once.json, "expert").seconds / traffic(apart.json, "expert").seconds - 3.5 / 7) < 1e-3);
  assert.equal(any.json.predicted.step_seconds, apart.json.predicted.step_seconds);
  // twice the mean on the busiest rank: twice the bytes
  const uneven = (await ask({ imbalance: 2 })).json;
  assert.ok(Math.abs(traffic(uneven, "expert").bytes / traffic(apart.json, "expert").bytes - 2) < 1e-9);
  for (const [more, pointer] of [[{ n_group: 7, topk_group: 4 }, "/model/moe/n_group"], [{ n_group: 8 }, "/model/moe/topk_group"],
    [{ topk_group: 4 }, "/model/moe/n_group"], [{ imbalance: 0.5 }, "/model/moe/imbalance"], [{ imbalance: 65 }, "/model/moe/imbalance"], [{ n_group: 64, topk_group: 7 }, "/model/moe/topk_group"]]) {
    const answer = await ask(more);
    assert.equal(answer.status, 422, answer.body.toString());
    assert.equal(answer.json.errors[0].pointer, pointer, answer.body.toString());
  }
});

test("words are read strictly", async () => {
  for (const [strategy, status, pointer] of [
    [{ overlap: ["experts"] }, 422, "/strategy/overlap/0"],
    [{ overlap: "expert" }, 400, "/strategy/overlap"],
    [{ overlap: [1] }, 400, "/strategy/overlap/0"],
    [{ overlap: ["expert"], overlap_gradients: true }, 422, "/strategy/overlap_gradients"],
    [{ dispatch_dtype: "fp4" }, 422, "/strategy/dispatch_dtype"],
  ]) {
    const answer = await service.post("/v1/plans", { ...EXPERTS, strategy: { ...EXPERTS.strategy, ...strategy } });
    assert.equal(answer.status, status, answer.body.toString());
    assert.ok(answer.body.toString().includes(pointer), answer.body.toString());
  }
});

test("a plain pipeline has no partners, and says so", async () => {
  const plan = await solved(told(["gradients", "expert"], { vpp: 1 }));
  const plain = await solved(told(["gradients"], { vpp: 1 }));
  assert.ok(plan.warnings.some((w) => w.code === "overlap_without_partner"), JSON.stringify(plan.warnings));
  assert.equal(plan.predicted.step_seconds, plain.predicted.step_seconds);
});

test("a schedule of pairs hides experts' traffic without chunks", async () => {
  const dual = { vpp: 1, schedule: "dualpipe" };
  const plain = await solved(told(["gradients"], dual));
  const paired = await solved(told(["gradients", "expert"], dual));
  assert.equal(paired.solution.schedule, "dualpipe");
  assert.ok(paired.predicted.step_seconds < plain.predicted.step_seconds);
  assert.ok(!paired.warnings.some((w) => w.code === "overlap_without_partner"), JSON.stringify(paired.warnings));
  assert.ok(traffic(paired, "expert").hidden_seconds > 0);
  assert.match(await exported(paired, "megatron"), /^# plan schedule=dualpipe: Megatron has no option for it$/m);
  const zero = await solved(told(["gradients"], { vpp: 1, schedule: "zb-h1" }));
  const straight = await solved(told(["gradients"], { vpp: 1 }));
  assert.equal(straight.solution.schedule, "1f1b");
  assert.ok(zero.predicted.breakdown.bubble_seconds < straight.predicted.breakdown.bubble_seconds);
  const answer = await service.post("/v1/plans", told([], { schedule: "dualpipe" }));
  assert.equal(answer.status, 422);
  assert.equal(answer.json.code, "schedule");
});

test("a search for a stack that overlaps is never slower, and tells it in every plan", async () => {
  const request = { kind: "strategy", model: "mixtral-8x7b", cluster: { preset: "dgx-h100", nodes: 2 }, batch: BATCH };
  const plain = await solved(request);
  const stack = { overlap: ["gradients", "tensor", "expert", "sends"] };
  const plan = await solved({ ...request, constraints: stack });
  assert.ok(plan.predicted.step_seconds <= plain.predicted.step_seconds);
  assert.deepEqual(plan.solution.overlap, stack.overlap);
  assert.ok(plan.alternatives.every((a) => a.solution.overlap.includes("expert")));
  const again = await solved({ ...request, kind: "estimate", strategy: plan.solution });
  assert.ok(Math.abs(again.predicted.step_seconds / plan.predicted.step_seconds - 1) < 1e-12);
  const none = await solved({ ...request, constraints: { overlap: [] } });
  assert.deepEqual(none.solution.overlap, []);
  assert.ok(none.predicted.step_seconds >= plain.predicted.step_seconds);
});

test("launchers' own options, there and back", async () => {
  const request = told(["gradients", "tensor", "expert", "sends"], { dp: 2, tp: 2, sequence_parallel: true, etp: 1 });
  const plan = await solved(request);
  const body = await exported(plan, "megatron");
  for (const line of ["--tp-comm-overlap", "--overlap-moe-expert-parallel-comm", "--overlap-grad-reduce"])
    assert.ok(body.split("\n").includes(line), `${line} in\n${body}`);
  assert.doesNotMatch(body, /overlap-p2p/);
  assert.doesNotMatch(body, /^#/m);
  const read = await solved({ ...request, strategy: { format: "megatron", text: body } });
  assert.deepEqual(read.solution.overlap, plan.solution.overlap);
  assert.ok(Math.abs(read.predicted.step_seconds / plan.predicted.step_seconds - 1) < 1e-12);
  assert.match(await exported(await solved(told(["gradients"])), "megatron"), /^--no-overlap-p2p-communication$/m);
  // MindSpore keeps them in a file of its own, DeepSpeed has none
  const yaml = await exported(await solved(told(["tensor", "expert"], { dp: 2, tp: 2, ep: 2, sequence_parallel: true })), "mindformers");
  assert.match(yaml, /^# plan overlap_expert=true: pp_1f1b_overlap/m);
  assert.match(yaml, /^# plan overlap_tensor=true: compute_communicate_fusion_level/m);
  const dense = await solved({ ...EXPERTS, model: "llama3-8b",
    strategy: { dp: 2, tp: 8, zero: 2, sequence_parallel: true, overlap: ["gradients", "tensor"] } });
  const toml = await exported(dense, "torchtitan");
  assert.match(toml, /^enable_async_tensor_parallel = true$/m);
  assert.match(toml, /^\[compile\]\nenable = true$/m);
  const notes = JSON.parse(await exported(dense, "deepspeed")).notes;
  assert.ok(notes.some((note) => note.startsWith("plan overlap_tensor=true: DeepSpeed has no option")), notes);
});
