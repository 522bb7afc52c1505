// The kind swap-or-pipeline: its schema says what it takes, the rule turns with the link, and what cannot be is told with its member.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { errorsOf } from "./schema.mjs";
import { Service } from "./service.mjs";

let s, schema;
before(async () => {
  s = await Service.start();
  schema = (await s.get("/v1/plan-kinds")).json.items.find((k) => k.kind === "swap-or-pipeline")?.schema;
});
after(() => s.stop());

const PROBLEM = { kind: "swap-or-pipeline", devices: 8, micro_batches: 256, forward: 0.1, weights_bytes: 2.6e9, activation_bytes: 8388608,
  link: { bytes_per_second: 1.25e8 }, host_link: { bytes_per_second: 12e9 } };
const ask = async (more) => (await s.post("/v1/plans", { ...PROBLEM, ...more })).json;
const link = (bits) => ({ link: { bytes_per_second: bits / 8 } });

// systems.md, table: a link of 1 Gb/s fires the rule, one of 100 Gb/s does not
test("the rule turns with the link", async () => {
  assert.deepEqual(errorsOf(schema, schema, PROBLEM), []);
  assert.equal((await ask(link(1e9))).predicted.rule.prefer_swap, true);
  assert.equal((await ask(link(100e9))).predicted.rule.prefer_swap, false);
});

test("the fastest that is allowed, and the others with what they lose", async () => {
  for (const stale_gradients of [false, true]) for (const bits of [1e8, 1e9, 1e10, 1e11]) {
    const plan = await ask({ ...link(bits), stale_gradients });
    for (const a of plan.alternatives) assert.ok(a.loses_by >= 0 && a.reason);
    const seen = [plan, ...plan.alternatives].map((a) => a.solution.choice);
    assert.equal(seen.includes("swap-stale"), stale_gradients);
    assert.equal(plan.rejected.some((r) => r.example === "swap-stale"), !stale_gradients);
    assert.equal(plan.warnings.some((w) => w.code === "stale_gradients"), plan.solution.choice === "swap-stale");
  }
  // enough micro-batches for each exchange: swapping wins without stale gradients too
  const few = await ask(link(1e9)), pays = few.predicted.rule.paying_micro_batches;
  assert.equal(few.solution.choice, "pipeline");
  assert.ok(pays > 256);
  assert.equal((await ask({ ...link(1e9), micro_batches: 8 * Math.ceil(pays / 4) })).solution.choice, "swap");
});

test("what cannot be is told with its member", async () => {
  for (const [more, status, pointer] of [
    [{ devices: 1 }, 422, "/devices"], [{ devices: 1e6 }, 422, "/devices"], [{ devices: undefined }, 400, "/devices"], [{ micro_batches: 4e9 }, 422, "/micro_batches"],
    [{ parts: 0 }, 422, "/parts"], [{ forward: -1 }, 422, "/forward"], [{ forward: "1" }, 400, "/forward"], [{ weights_bytes: 1e300 }, 422, "/weights_bytes"],
    [{ link: { bytes_per_second: 0 } }, 422, "/link/bytes_per_second"], [{ link: undefined }, 400, "/link"], [{ host_link: {} }, 400, "/host_link/bytes_per_second"],
    [{ host_link: { bytes_per_second: 1, latency_seconds: 1e9 } }, 422, "/host_link/latency_seconds"], [{ blocking: 1 }, 400, "/blocking"], [{ colour: 1 }, 400, "/colour"],
  ]) {
    const { status: is, json } = await s.post("/v1/plans", { ...PROBLEM, ...more });
    assert.equal(is, status, JSON.stringify([more, json]));
    assert.equal(json.errors[0].pointer, pointer, JSON.stringify(json));
  }
  // a pipeline of 8 holds an eighth of weights and gradients, a device that swaps two parts and the gradients of one
  const tight = await s.post("/v1/plans", { ...PROBLEM, memory_bytes: 1e8 });
  assert.deepEqual([tight.status, tight.json.code, tight.json.least_memory_bytes], [422, "infeasible", 6.5e8]);
  const cap = await ask({ memory_bytes: 7e8 });
  assert.deepEqual([cap.solution.choice, cap.alternatives], ["pipeline", []]);
});
