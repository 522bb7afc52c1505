// The method oases of the kind strategy: overlapping halves beat the same degrees without, what it leaves out is told, and memory holds.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { errorsOf } from "./schema.mjs";
import { Service } from "./service.mjs";

let s, schema;
before(async () => {
  s = await Service.start();
  schema = (await s.get("/v1/plan-kinds")).json.items.find((k) => k.kind === "strategy")?.schema;
});
after(() => s.stop());

const MODEL = { layers: 24, hidden: 3072, heads: 48, ffn_hidden: 12288, vocab: 50304, seq_len: 1024 };
const PROBLEM = { kind: "strategy", method: "oases", model: MODEL, batch: { global_sequences: 64 }, cluster: { nodes: 2, devices_per_node: 4,
  device: { name: "rtx-3090", peak_flops: 71e12, memory_bytes: 25769803776, memory_bandwidth: 936e9 },
  links: [{ scope: "node", bytes_per_second: 8e9 }, { scope: "cluster", bytes_per_second: 1.5e9 }] } };
const LARGE = { ...PROBLEM.cluster, device: { ...PROBLEM.cluster.device, memory_bytes: 256e9 } };
async function plan(more) {
  const problem = { ...PROBLEM, ...more };
  assert.deepEqual(errorsOf(schema, schema, problem), []);
  const { status, json } = await s.post("/v1/plans", problem);
  assert.equal(status, 201, JSON.stringify(json));
  return json;
}

test("degrees cover all half-layers, on all devices, within memory", async () => {
  const p = await plan({});
  assert.equal(p.solution.degrees.reduce((n, d) => n + d.nodes, 0), 48);
  for (const d of p.solution.degrees) {
    assert.equal(d.tp * d.dp, 8);
    assert.equal(d.dp * d.micro_batch * 2 * p.solution.steps, 64);
  }
  assert.ok(p.predicted.memory_bytes <= 0.95 * 25769803776);
  assert.ok(p.warnings.some((w) => w.code === "restricted") && p.quality.proved && p.quality.objective);
  for (let i = 1; i < p.frontier.length; i++)
    assert.ok(p.frontier[i].seconds < p.frontier[i - 1].seconds && p.frontier[i].bytes > p.frontier[i - 1].bytes);
  // more memory is never slower, one degree for all never faster than the best mixture
  assert.ok((await plan({ cluster: LARGE })).predicted.step_seconds <= p.predicted.step_seconds);
  assert.ok((await plan({ constraints: { tp: [4] } })).predicted.step_seconds >= p.predicted.step_seconds);
});

test("one degree: without tensor ranks as estimate says, with them faster by what overlaps", async () => {
  for (const [tp, low, high] of [[1, 0.95, 1.05], [4, 0.3, 0.95]]) {
    const p = await plan({ cluster: LARGE, constraints: { tp: [tp] } });
    const [d] = p.solution.degrees;
    const { method, ...rest } = PROBLEM;
    const { status, json } = await s.post("/v1/plans", { ...rest, kind: "estimate", cluster: LARGE,
      strategy: { tp, dp: d.dp, micro_batch: d.micro_batch, recompute: "full" } });
    assert.equal(status, 201, JSON.stringify(json));
    const ratio = p.predicted.step_seconds / json.predicted.step_seconds;
    assert.ok(ratio > low && ratio < high, `${tp}: ${ratio}`);
  }
});

test("what it cannot do is told with its member", async () => {
  const moe = { ...MODEL, moe: { experts: 8, top_k: 2, ffn_hidden: 3072 } };
  for (const [more, pointer] of [[{ model: moe }, "/model/moe"], [{ constraints: { pp: [2] } }, "/constraints/pp"], [{ constraints: { zero: [3] } }, "/constraints/zero"],
    [{ constraints: { overlap: ["tensor"] } }, "/constraints/overlap"], [{ batch: { global_sequences: 1 } }, "/batch/global_sequences"]]) {
    const { status, json } = await s.post("/v1/plans", { ...PROBLEM, ...more });
    assert.deepEqual([status, json.errors?.[0].pointer], [422, pointer], JSON.stringify(json));
  }
  const tight = await s.post("/v1/plans", { ...PROBLEM, constraints: { memory_bytes: 1e9 } });
  assert.deepEqual([tight.status, tight.json.code], [422, "infeasible"]);
  const enough = await plan({ constraints: { memory_bytes: tight.json.least_memory_bytes } });
  assert.equal(enough.predicted.memory_bytes, tight.json.least_memory_bytes);
});
