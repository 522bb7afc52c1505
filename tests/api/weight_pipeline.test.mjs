// The kind weight-pipeline: its schema says what it takes, the counts of the paper hold, and what cannot be is told with its member.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { errorsOf } from "./schema.mjs";
import { PATIENCE_MS, Service } from "./service.mjs";

let s, schema;
before(async () => {
  s = await Service.start();
  schema = (await s.get("/v1/plan-kinds")).json.items.find((k) => k.kind === "weight-pipeline")?.schema;
});
after(() => s.stop());

const LINKS = (between) => [{ scope: "node", bytes_per_second: 200e9 }, { scope: "cluster", bytes_per_second: between }];
const MODEL = { layers: 48, hidden: 4096, heads: 32, ffn_hidden: 16384, vocab: 32000, seq_len: 16384, biases: false };
const PROBLEM = { kind: "weight-pipeline", model: MODEL, batch: { global_sequences: 1536, micro: 1 },
  cluster: { nodes: 3, devices_per_node: 8, device: "a800-80g", links: LINKS(25e9) } };
const ask = async (more) => (await s.post("/v1/plans", { ...PROBLEM, ...more })).json;
const ways = (plan) => Object.fromEntries([plan, ...plan.alternatives].map((a) => [a.solution.way, a.predicted]));

// systems.md 3.8, check: P = 24, b = 1, s = 16384, h = 4096
test("volumes, threshold and storage", async () => {
  assert.deepEqual(errorsOf(schema, schema, PROBLEM), []);
  const plan = await ask({ method: "tawpipe" }), by = ways(plan);
  assert.deepEqual(["1f1b", "weipipe", "tawpipe"].map((k) => by[k].elements_per_layer), [3221225472, 603979776, 402653184]);
  assert.deepEqual(plan.predicted.rule, { tokens: 16384, threshold_tokens: 2048, pass_weights: true });
  const { storage } = plan.solution;
  assert.deepEqual(storage.slice(0, 4).map((w) => w.rank), [0, 8, 16, 1]);
  assert.deepEqual(storage.slice(0, 4).map((w) => w.group), [0, 1, 2, 0]);
  assert.equal(new Set(storage.map((w) => w.rank)).size, 24);
  assert.equal(storage.reduce((n, w) => n + w.layers, 0), 48);
  assert.equal(storage[23].first_layer + storage[23].layers, 48);
});

test("the fastest way that fits, and why the others lose", async () => {
  const best = await ask({}), by = ways(best);
  for (const a of best.alternatives) {
    assert.ok(a.loses_by >= 0 && a.reason, a.solution.way);
    assert.ok(Math.abs(a.predicted.step_seconds / best.predicted.step_seconds - 1 - a.loses_by) < 1e-9);
  }
  for (const p of Object.values(by)) assert.ok(p.fits && p.memory_bytes <= 80e9 && p.memory_bytes === Object.values(p.memory).reduce((a, b) => a + b, 0));
  // of two ways to pass weights the one that sends two thirds is never slower but for its bubble, and wins where the network binds
  const slow = ways(await ask({ cluster: { ...PROBLEM.cluster, links: LINKS(1e9) } }));
  assert.ok(slow.tawpipe.step_seconds < slow.weipipe.step_seconds);
  // short sequences: the rule turns
  const short = await ask({ model: { ...MODEL, seq_len: 1024 } });
  assert.equal(short.predicted.rule.pass_weights, false);
});

test("fewer layers than devices: no stages, said with its reason", async () => {
  const plan = await ask({ model: { ...MODEL, layers: 16 } });
  assert.ok(plan.rejected.some((r) => r.example === "1f1b" && /stages/.test(r.reason)), JSON.stringify(plan.rejected));
});

test("what cannot be is told with its member", async () => {
  for (const [more, status, pointer] of [
    [{ model: undefined }, 400, "/model"], [{ cluster: "nowhere" }, 400, "/cluster"], [{ batch: undefined }, 400, "/batch"],
    [{ method: "tawpipe", batch: { global_sequences: 1000 } }, 422, "/batch/global_sequences"], [{ method: "1f1b", model: { ...MODEL, layers: 16 } }, 422, "/cluster"],
    [{ recompute: "some" }, 422, "/recompute"], [{ shared_nic: 1 }, 400, "/shared_nic"], [{ colour: 1 }, 400, "/colour"], [{ method: "pigeon" }, 400, "/method"],
    [{ cluster: { ...PROBLEM.cluster, nodes: 1e9 } }, 422, "/cluster/nodes"], [{ cluster: { ...PROBLEM.cluster, links: LINKS(0) } }, 422, "/cluster/links/1/bytes_per_second"],
    [{ batch: { global_sequences: 1536, micro: 0 } }, 422, "/batch/micro"],
  ]) {
    const { status: is, json } = await s.post("/v1/plans", { ...PROBLEM, ...more });
    assert.equal(is, status, JSON.stringify([more, json]));
    assert.equal(json.errors[0].pointer, pointer, JSON.stringify(json));
  }
  const tight = await s.post("/v1/plans", { ...PROBLEM, constraints: { memory_bytes: 1e9 } });
  assert.deepEqual([tight.status, tight.json.code], [422, "infeasible"]);
  assert.ok(tight.json.least_memory_bytes > 1e9);
  const enough = await s.post("/v1/plans", { ...PROBLEM, constraints: { memory_bytes: tight.json.least_memory_bytes } });
  assert.equal(enough.status, 201);
});

test("a hundred million devices are answered at once", async () => {
  const start = Date.now();
  const { status } = await s.post("/v1/plans", { ...PROBLEM, cluster: { ...PROBLEM.cluster, nodes: 131072, devices_per_node: 1024 }, batch: { global_sequences: 131072 * 1024 } });
  assert.ok([201, 422].includes(status), String(status));
  assert.ok(Date.now() - start < PATIENCE_MS);
});
