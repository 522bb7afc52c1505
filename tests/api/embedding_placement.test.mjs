// The kind embedding-placement: its schema says what it takes, no plan is over its memory, and stale gradients are never suggested unasked.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { errorsOf } from "./schema.mjs";
import { Service } from "./service.mjs";

let s, schema;
before(async () => {
  s = await Service.start();
  schema = (await s.get("/v1/plan-kinds")).json.items.find((k) => k.kind === "embedding-placement")?.schema;
});
after(() => s.stop());

const MODEL = { layers: 32, hidden: 4096, heads: 32, ffn_hidden: 16384, vocab: 256000, seq_len: 4096, tied_embedding: true };
const PROBLEM = { kind: "embedding-placement", model: MODEL, batch: { global_sequences: 128, micro: 1 }, strategy: { pp: 8, dp: 4, zero: 1 },
  cluster: { nodes: 4, devices_per_node: 8, device: "a100-80g", links: [{ scope: "node", bytes_per_second: 300e9 }, { scope: "cluster", bytes_per_second: 25e9 }] } };
const ask = async (more) => (await s.post("/v1/plans", { ...PROBLEM, ...more })).json;
const all = (plan) => [plan, ...plan.alternatives];

test("every placement is weighed, the fastest is chosen, and its parts add up", async () => {
  assert.deepEqual(errorsOf(schema, schema, PROBLEM), []);
  const plan = await ask({});
  assert.deepEqual(all(plan).map((a) => a.solution.placement).sort(), ["both-ends", "one-device", "split-vocabulary"]);
  for (const a of all(plan)) {
    const p = a.predicted;
    assert.equal(a.solution.layers.reduce((x, y) => x + y), 32);
    assert.ok(Math.abs(p.makespan_seconds + p.exchange_seconds - p.step_seconds) < 1e-9 * p.step_seconds);
    assert.ok(p.step_seconds >= plan.predicted.step_seconds && p.makespan_seconds >= Math.max(...p.busy_seconds) * (1 - 1e-12));
    assert.ok(Math.max(...p.memory_bytes) <= 80e9 && p.memory_bytes.length === 8);
    // only two copies of one matrix are added up
    assert.equal(p.exchange_seconds > 0, a.solution.placement === "both-ends");
  }
  const apart = await ask({ model: { ...MODEL, tied_embedding: false } });
  for (const a of all(apart)) assert.equal(a.predicted.exchange_seconds, 0);
});

test("stale gradients are suggested only where they are allowed", async () => {
  for (const sequences of [32, 128, 512]) {
    const plan = await ask({ batch: { global_sequences: sequences, micro: 1 } });
    assert.ok(all(plan).every((a) => a.solution.placement !== "one-device-stale"));
    assert.ok(plan.rejected.some((r) => r.example === "one-device-stale"));
  }
  const plan = await ask({ stale_gradients: true, batch: { global_sequences: 32, micro: 1 } });
  assert.ok(all(plan).some((a) => a.solution.placement === "one-device-stale"));
  if (plan.solution.placement === "one-device-stale") assert.ok(plan.warnings.some((w) => w.code === "stale_gradients"));
});

test("what cannot be is told with its member", async () => {
  for (const [more, status, pointer] of [
    [{ strategy: undefined }, 400, "/strategy"], [{ strategy: {} }, 422, "/strategy/pp"], [{ strategy: { pp: 8, vpp: 2 } }, 422, "/strategy/vpp"],
    [{ strategy: { pp: 32 }, model: { ...MODEL, layers: 16 } }, 422, "/strategy/pp"], [{ strategy: { pp: 1e9 } }, 422, "/strategy/pp"], [{ stale_gradients: "yes" }, 400, "/stale_gradients"],
    [{ model: "nobody" }, 400, "/model"], [{ colour: 1 }, 400, "/colour"], [{ batch: { global_sequences: 1e9 }, strategy: { pp: 8 } }, 422, "/batch/global_sequences"],
  ]) {
    const { status: is, json } = await s.post("/v1/plans", { ...PROBLEM, ...more });
    assert.equal(is, status, JSON.stringify([more, json]));
    assert.equal(json.errors[0].pointer, pointer, JSON.stringify(json));
  }
  const tight = await s.post("/v1/plans", { ...PROBLEM, constraints: { memory_bytes: 1e9 } });
  assert.deepEqual([tight.status, tight.json.code], [422, "infeasible"]);
  const enough = await s.post("/v1/plans", { ...PROBLEM, constraints: { memory_bytes: tight.json.least_memory_bytes } });
  assert.equal(enough.status, 201);
  assert.ok(Math.max(...enough.json.predicted.memory_bytes) <= tight.json.least_memory_bytes);
});
