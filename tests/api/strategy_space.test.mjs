// The exact search: orders of ranks that fill nodes evenly where the usual one does not, and a frontier on which nothing is dominated as it is told.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service } from "./service.mjs";

let s;
before(async () => { s = await Service.start(); });
after(() => s.stop());

const links = (node, cluster) => [{ scope: "node", bytes_per_second: node }, { scope: "cluster", bytes_per_second: cluster }];

test("an order that fills nodes evenly is tried, although the usual one and its products do not", async () => {
  // Twelve replicas of two stages on three nodes of eight: stage by stage, replicas lie as 8 + 4 on the nodes; with the two stages side by side, as 4 + 4 + 4.
  const problem = { model: { layers: 3, hidden: 8192, heads: 4, kv_heads: 4, head_dim: 128, ffn_hidden: 21845, gated_ffn: true, vocab: 128256, seq_len: 2048 },
    cluster: { nodes: 3, devices_per_node: 8, device: "h100-80g", links: links(64e9, 50e9) }, batch: { global_sequences: 60 } };
  const { status, json: plan } = await s.post("/v1/plans", { kind: "strategy", ...problem, constraints: { dp: 12, pp: 2 } });
  assert.equal(status, 201, JSON.stringify(plan));
  for (const order of [["tp", "cp", "dp", "pp"], ["pp", "dp", "tp", "cp"]]) {
    const { stages, devices_used, micro_batches, offload, ...strategy } = plan.solution;
    const { json } = await s.post("/v1/plans", { kind: "estimate", ...problem, strategy: { ...strategy, order } });
    assert.ok(json.predicted.fits);
    assert.ok(plan.predicted.step_seconds <= json.predicted.step_seconds * (1 + 1e-9), `${order}: ${json.predicted.step_seconds}`);
  }
});

test("of points of a frontier that take as many whole bytes, one is told", async () => {
  // Seven replicas, so that their shards have fractions of a byte; one layer, so that recomputing its scores saves nothing at the peak.
  const { status, json: plan } = await s.post("/v1/plans", { kind: "strategy",
    model: { layers: 1, hidden: 2048, heads: 4, kv_heads: 4, head_dim: 128, ffn_hidden: 5504, gated_ffn: false, vocab: 50257, seq_len: 512 },
    cluster: { nodes: 16, devices_per_node: 8, device: "ascend-910b", links: links(20e9, 1e9) }, batch: { global_sequences: 210 } });
  assert.equal(status, 201, JSON.stringify(plan));
  assert.ok(plan.frontier.length > 1);
  for (const [i, a] of plan.frontier.entries())
    for (const b of plan.frontier.slice(i + 1)) assert.ok(b.seconds > a.seconds && b.bytes < a.bytes, `${b.seconds} s, ${b.bytes} bytes`);
});

test("a plan fits in as many bytes as it is told to need", async () => {
  // 1.05 times what comes and goes (fragmentation) has fractions of a byte: a point rounded down would be lost in a search with its own bytes.
  const problem = { kind: "strategy", model: { layers: 3, hidden: 1536, heads: 6, ffn_hidden: 3072, vocab: 1000, seq_len: 256 },
    cluster: { nodes: 1, devices_per_node: 1, device: { peak_flops: 1e13, memory_bytes: 5417461170, memory_bandwidth: 1e12 }, links: links(1e11, 1e10) },
    batch: { global_sequences: 6 } };
  const { status, json: plan } = await s.post("/v1/plans", problem);
  assert.equal(status, 201, JSON.stringify(plan));
  assert.ok(plan.frontier.length > 3);
  for (const { seconds, bytes } of plan.frontier) {
    const { json } = await s.post("/v1/plans", { ...problem, constraints: { memory_bytes: bytes } });
    assert.equal(json.predicted.memory_bytes, bytes);
    assert.equal(json.predicted.step_seconds, seconds);
    assert.equal(Object.values(json.predicted.memory).reduce((a, b) => a + b), bytes);
  }
});

test("a ninth device in each node does not make the plan worse: one of them is left idle where eight divide better", async () => {
  const problem = (devices_per_node) => ({ model: { preset: "llama3-70b" }, batch: { global_sequences: 64 },
    cluster: { nodes: 4, devices_per_node, device: "h100-80g", links: links(450e9, 50e9) } });
  const of = async (request) => {
    const { status, json } = await s.post("/v1/plans", request);
    assert.equal(status, 201, JSON.stringify(json));
    return json;
  };
  const eight = await of({ kind: "strategy", ...problem(8) }), nine = await of({ kind: "strategy", ...problem(9) });
  assert.equal(nine.predicted.step_seconds, eight.predicted.step_seconds);
  assert.equal(nine.solution.devices_per_node, 8);
  assert.ok(!("devices_per_node" in eight.solution));
  // As it stands, it is what `estimate` takes; on all nine of each node its groups lie across nodes.
  const same = await of({ kind: "estimate", ...problem(9), strategy: nine.solution });
  assert.deepEqual(same.predicted, nine.predicted);
  assert.equal(same.solution.devices_per_node, 8);
  const { devices_per_node, ...all } = nine.solution;
  assert.ok((await of({ kind: "estimate", ...problem(9), strategy: all })).predicted.step_seconds > nine.predicted.step_seconds);
  // Launchers are told.
  const exported = async (format) => (await s.get(`/v1/plans/${nine.id}/export?format=${format}`)).body.toString();
  assert.match(await exported("env"), /^DEVICES_PER_NODE=8$/m);
  assert.match(await exported("megatron"), /^# plan devices_per_node=8: as many processes are to be started on each node$/m);
  const back = await of({ kind: "estimate", ...problem(9), strategy: { format: "megatron", text: await exported("megatron"), devices: 32 } });
  assert.equal(back.predicted.step_seconds, nine.predicted.step_seconds);
  // More of a node than it has, or fewer than all nodes have room with.
  for (const [devices_per_node, code, at] of [[10, "node_devices", "devices_per_node"], [7, "devices", "dp"]]) {
    const { status, json } = await s.post("/v1/plans", { kind: "estimate", ...problem(9), strategy: { ...nine.solution, devices_per_node } });
    assert.equal(status, 422);
    assert.deepEqual([json.code, json.errors?.[0]?.pointer ?? json.pointer], [code, `/strategy/${at}`], JSON.stringify(json));
  }
});
