// The strategy methods amp and apss, against the log of APSS (research: systems 3.15): two nodes of two devices,
// 10 and 50 Gb/s between them, 170 and 50 Gb/s inside, and the seconds of one sequence that the log gives away.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { errorsOf } from "./schema.mjs";
import { PATIENCE_MS, Service } from "./service.mjs";

let s, schema;
before(async () => {
  s = await Service.start();
  schema = (await s.get("/v1/plan-kinds")).json.items.find((k) => k.kind === "strategy")?.schema;
});
after(() => s.stop());

// 24 layers, three passes each; the GPUs have memory for every candidate without recomputing
const GPU = { name: "large", peak_flops: 125e12, memory_bytes: 4e11, memory_bandwidth: 9e11 };
const LOG = { kind: "strategy", method: "apss",
  model: { layers: 24, hidden: 1024, heads: 16, ffn_hidden: 4096, vocab: 51200, seq_len: 1024 },
  cluster: { nodes: 2, devices_per_node: 2, device: GPU,
    links: [{ scope: "node", bytes_per_second: 6.25e9 }, { scope: "cluster", bytes_per_second: 1.25e9 }] },
  batch: { global_sequences: 32 }, layer_seconds: { 1: 0.28217697 / 72, 2: 0.37752557 / 72 },
  node_links: [{ node: 21.25e9, cluster: 1.25e9 }, { node: 6.25e9, cluster: 6.25e9 }] };
const near = (a, b, tolerance) => assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`);
const layers = (plan) => plan.solution.stages.map((x) => x.layers);

async function solve(more) {
  const request = { ...LOG, ...more };
  const { status, json } = await s.post("/v1/plans", request);
  assert.ok(status === 201 || status === 200, JSON.stringify(json));
  assert.deepEqual(errorsOf(schema, schema, request), []);
  return json;
}

test("the costs of the log, and better cuts than the network's", async () => {
  const rows = [[{ tp: 1, dp: 2, pp: 2, micro_batch: 16 }, 4.66516, [12, 12]], [{ tp: 1, dp: 1, pp: 4, micro_batch: 32 }, 9.16483, [6, 6, 6, 6]],
    [{ tp: 2, dp: 1, pp: 2, micro_batch: 32 }, 12.18819, [12, 12]], [{ tp: 1, dp: 2, pp: 2, micro_batch: 1 }, 2.4985, [12, 12]]];
  for (const [constraints, seconds, stages] of rows) {
    const plan = await solve({ constraints });
    near(plan.quality.value, seconds, 1e-5);
    assert.deepEqual(layers(plan), stages);
    assert.equal(plan.quality.candidates, 1);
    assert.equal(plan.solution.recompute, "none");
  }
  const best = await solve({});
  assert.equal(best.quality.candidates, 26);
  near(best.quality.value, 2.47327, 1e-5);
  assert.equal(best.quality.optimal, true);
  assert.deepEqual([best.solution.tp, best.solution.dp, best.solution.pp, best.solution.micro_batch], [1, 1, 4, 1]);
  assert.deepEqual(layers(best), [6, 6, 6, 6]);
});

// By hand: dp 4 alone reduces 24 x 12 h^2 parameters at 2 x 3/4 over the slowest of its ring, 1.25e9 / 4 elements a
// second, and amp the larger table besides: 51200 x 1024 at 2 x 3/4 / 3.125e8 = 0.251658 s
test("amp reduces the embedding too", async () => {
  const constraints = { dp: 4, micro_batch: 1 };
  const apss = await solve({ constraints }), amp = await solve({ constraints, method: "amp" });
  near(apss.quality.value, 8 * 0.28217697 + 1.5 * 24 * 12 * 1024 ** 2 / 3.125e8, 1e-5);
  near(amp.quality.value - apss.quality.value, 0.251658, 1e-5);
});

test("the plan is predicted by the model of estimate, and without measured times by it alone", async () => {
  const { layer_seconds, node_links, ...bare } = LOG;
  const { json: plan } = await s.post("/v1/plans", { ...bare, method: "amp", limit: 3 });
  const { kind, method, limit, ...problem } = { ...bare };
  const { json: estimate } = await s.post("/v1/plans", { ...problem, kind: "estimate", strategy: plan.solution });
  near(estimate.predicted.step_seconds, plan.predicted.step_seconds, 1e-9);
  assert.ok(plan.warnings.some((w) => w.code === "layer_seconds_modelled"));
  assert.ok(plan.explanation.stages.length > 0);
  assert.equal(plan.alternatives.length, 3);
  let last = plan.quality.value;
  for (const a of plan.alternatives) {
    assert.ok(a.value >= last);
    near(a.loses_by, a.value / plan.quality.value - 1, 1e-12);
    last = a.value;
  }
  const { json: exact } = await s.post("/v1/plans", { ...bare, method: "exact" });
  assert.ok(exact.predicted.step_seconds <= plan.predicted.step_seconds * (1 + 1e-9));
});

test("as much is recomputed as the memory asks for", async () => {
  const constraints = { tp: 1, dp: 2, pp: 2, micro_batch: 16 };
  const plan = await solve({ constraints: { ...constraints, memory_bytes: 32e9 } });
  assert.equal(plan.solution.recompute, "full");
  // one forward pass more, of 16 sequences
  near(plan.quality.value, 4.66516 + 16 * 0.28217697 / 3, 1e-5);
  assert.ok(plan.predicted.memory_bytes <= 32e9);
  const { status, json } = await s.post("/v1/plans", { ...LOG, constraints: { ...constraints, memory_bytes: 1e9 } });
  assert.equal(status, 422);
  assert.equal(json.code, "infeasible");
  assert.ok(json.least_memory_bytes > 1e9 && json.nearest.memory_bytes === json.least_memory_bytes);
});

// The seconds by AMP's formula, by hand; the memory of each cut by `estimate`.
test("where the fastest cut does not fit, the fastest of those that do is the plan", async () => {
  const fixed = { tp: 1, dp: 2, pp: 2, micro_batch: 4, zero: 0, recompute: "none" };
  const forward = Array.from({ length: 24 }, (_, l) => (l < 12 ? 1e-3 : 3e-3));
  const cuts = [];
  for (let n = 1; n < 24; n++) {
    const sum = (a, b) => 12 * forward.slice(a, b).reduce((x, y) => x + y, 0); // three passes of four sequences
    const first = sum(0, n), last = sum(n, 24);
    // 4 micro-batches; a cut sends 4 s h elements over 1.25e9 bytes of 4 a second; each stage's dp ranks lie in one node
    const seconds = 3 * Math.max(first, last) + first + last + 4 * 1024 ** 2 / 3.125e8 +
      Math.max(n * 12 * 1024 ** 2 / 5.3125e9, (24 - n) * 12 * 1024 ** 2 / 1.5625e9);
    const { kind, method, layer_seconds, node_links, ...problem } = LOG;
    const { json } = await s.post("/v1/plans", { ...problem, kind: "estimate", strategy: { tp: 1, dp: 2, pp: 2, micro_batch: 4, zero: 0,
      stages: [{ first_layer: 0, layers: n }, { first_layer: n, layers: 24 - n }] } });
    cuts.push({ n, seconds, bytes: json.predicted.memory_bytes });
  }
  const best = (memory) => cuts.filter((c) => c.bytes <= memory).sort((a, b) => a.seconds - b.seconds)[0];
  const fastest = best(Infinity), least = Math.min(...cuts.map((c) => c.bytes));
  assert.ok(fastest.bytes > least + 1e9); // or nothing is tested
  for (const memory of [4e11, fastest.bytes - 1, Math.round((fastest.bytes + least) / 2), least]) {
    const plan = await solve({ layer_seconds: { 1: forward }, constraints: { ...fixed, memory_bytes: memory } });
    near(plan.quality.value, best(memory).seconds, 1e-9);
    assert.deepEqual(layers(plan), [best(memory).n, 24 - best(memory).n]);
    assert.ok(plan.predicted.memory_bytes <= memory && plan.quality.optimal === true);
  }
  // the frontier is what no other cut beats in both, within a quarter of the best
  const unbeaten = cuts.filter((a) => a.seconds <= 1.25 * fastest.seconds && !cuts.some((b) => b.seconds <= a.seconds && b.bytes <= a.bytes && b !== a))
    .sort((a, b) => a.seconds - b.seconds);
  const { frontier } = await solve({ layer_seconds: { 1: forward }, constraints: fixed });
  assert.ok(unbeaten.length > 1);
  assert.deepEqual(frontier.map((f) => layers(f)[0]), unbeaten.map((c) => c.n));
  frontier.forEach((f, i) => { near(f.seconds, unbeaten[i].seconds, 1e-9); near(f.bytes, unbeaten[i].bytes, 1); });
  const { status, json } = await s.post("/v1/plans", { ...LOG, layer_seconds: { 1: forward }, constraints: { ...fixed, memory_bytes: least - 2 } });
  assert.equal(status, 422);
  assert.ok(Math.abs(json.least_memory_bytes - least) <= 2, `${json.least_memory_bytes} is not ${least}`);
});

// By hand: four nodes of one device, 4 and 1 GB/s by turns; one replica of four stages of six layers. In their order all three
// cuts are slow; with the slow nodes at one end one is quick. A cut sends s h elements a sequence, 4 bytes each.
test("amp orders unlike nodes, apss takes them as they are", async () => {
  const cluster = { ...LOG.cluster, nodes: 4, devices_per_node: 1, links: [{ scope: "cluster", bytes_per_second: 1e9 }] };
  const node_links = [4e9, 1e9, 4e9, 1e9].map((rate) => ({ cluster: rate }));
  const more = { cluster, node_links, layer_seconds: { 1: 0.001 }, constraints: { dp: 1, pp: 4, micro_batch: 1 } };
  const apss = await solve(more), amp = await solve({ ...more, method: "amp" });
  const sent = (4 * 1024 ** 2) / 1e9, layers = 3 * 0.001 * (31 * 6 + 24);
  near(apss.quality.value, layers + 3 * sent, 1e-9);
  near(amp.quality.value, layers + 2.25 * sent, 1e-9);
  assert.equal(amp.quality.optimal, true);
  assert.deepEqual(apss.solution.node_order, [0, 1, 2, 3]);
  assert.deepEqual(amp.solution.node_order.map((n) => n % 2).join(""), amp.solution.node_order[0] % 2 ? "1100" : "0011");
  assert.deepEqual([...amp.solution.node_order].sort(), [0, 1, 2, 3]);
  for (const f of amp.frontier) assert.equal(f.solution.node_order.length, 4);
  // estimate takes the solution as it is, and refuses an order that is none
  const { kind, method, layer_seconds, constraints, node_links: own, ...problem } = { ...LOG, ...more };
  const estimate = (node_order) => s.post("/v1/plans", { ...problem, kind: "estimate", strategy: { ...amp.solution, node_order } });
  assert.equal((await estimate(amp.solution.node_order)).status, 201);
  const refused = await estimate([0, "1"]);
  assert.deepEqual([refused.status, refused.json.errors[0].pointer], [400, "/strategy/node_order/1"]);
});

test("the least memory that is told is enough, and less is not", async () => {
  const { json } = await s.post("/v1/plans", { ...LOG, constraints: { memory_bytes: 1e6 } });
  const least = json.least_memory_bytes;
  const plan = await solve({ constraints: { memory_bytes: least } });
  assert.ok(plan.predicted.memory_bytes <= least);
  const less = await s.post("/v1/plans", { ...LOG, constraints: { memory_bytes: least - 2 } });
  assert.deepEqual([less.status, less.json.code], [422, "infeasible"]);
});

test("what cannot be is told with its member", async () => {
  const few = Array.from({ length: 23 }, () => 0.1);
  const rows = [[{ layer_seconds: 1 }, 400, "/layer_seconds"], [{ layer_seconds: {} }, 422, "/layer_seconds"],
    [{ layer_seconds: { one: 1 } }, 400, "/layer_seconds/one"], [{ layer_seconds: { 1: few } }, 422, "/layer_seconds/1"],
    [{ layer_seconds: { 1: [...few, -1] } }, 422, "/layer_seconds/1/23"], [{ layer_seconds: { 1: "fast" } }, 400, "/layer_seconds/1"],
    [{ layer_seconds: { 1: -1 } }, 422, "/layer_seconds/1"], [{ node_links: {} }, 400, "/node_links"], [{ node_links: [] }, 422, "/node_links"],
    [{ node_links: [{ node: 1e9 }, { node: 1e9, cluster: 1e9 }] }, 400, "/node_links/0/cluster"],
    [{ node_links: [{ node: 0, cluster: 1e9 }, { node: 1e9, cluster: 1e9 }] }, 422, "/node_links/0/node"],
    [{ node_links: [{ node: 1e9, cluster: 1e9, moon: 1 }, {}] }, 400, "/node_links/0/moon"],
    [{ method: "exact" }, 400, "/layer_seconds"], [{ constraints: { tp: 4 } }, 422, ""], [{ constraints: { cp: 2 } }, 422, ""]];
  for (const [more, status, pointer] of rows) {
    const answer = await s.post("/v1/plans", { ...LOG, ...more });
    assert.equal(answer.status, status, JSON.stringify(more) + JSON.stringify(answer.json));
    if (pointer) assert.equal(answer.json.errors[0].pointer, pointer);
  }
  const { layer_seconds, node_links, method, ...bare } = LOG;
  assert.notDeepEqual(errorsOf(schema, schema, { ...bare, method: "exact", layer_seconds }), []);
  assert.notDeepEqual(errorsOf(schema, schema, { ...bare, layer_seconds }), []);
});

test("a large request ends", async () => {
  const cluster = { nodes: 4096, devices_per_node: 8, device: GPU,
    links: [{ scope: "node", bytes_per_second: 3e11 }, { scope: "cluster", bytes_per_second: 2.5e10 }] };
  const model = { layers: 512, hidden: 4096, heads: 64, ffn_hidden: 16384, vocab: 51200, seq_len: 2048 };
  const started = Date.now();
  const { status } = await s.post("/v1/plans", { kind: "strategy", method: "amp", model, cluster, batch: { global_sequences: 2 ** 20 * 3 } });
  assert.equal(status, 201);
  assert.ok(Date.now() - started < PATIENCE_MS);
  const deep = await s.post("/v1/plans", { kind: "strategy", method: "amp", model: { ...model, layers: 4096, hidden: 1024, heads: 16, ffn_hidden: 4096 }, cluster,
    batch: { global_sequences: 2 ** 18 } });
  assert.equal(deep.status, 201);
  assert.ok(deep.json.quality.lower_bound <= deep.json.quality.value);
  assert.ok(Date.now() - started < 2 * PATIENCE_MS);
});
