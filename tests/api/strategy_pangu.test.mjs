// The strategy method pangu-5d: a part of the exact space, told, and never faster than the whole of it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service } from "./service.mjs";

let s;
before(async () => { s = await Service.start(); });
after(() => s.stop());

// PanGu-alpha 200B (search-algorithms, section 12) on 2048 devices of 32 GB, eight a server
const NPU = { name: "ascend-910", peak_flops: 256e12, memory_bytes: 34359738368, memory_bandwidth: 1.2e12 };
const PROBLEM = { kind: "strategy", model: { layers: 64, hidden: 16384, heads: 128, ffn_hidden: 65536, vocab: 40000, seq_len: 1024 },
  cluster: { nodes: 256, devices_per_node: 8, device: NPU, links: [{ scope: "node", bytes_per_second: 30e9 }, { scope: "cluster", bytes_per_second: 12.5e9 }] },
  batch: { global_sequences: 2048 } };
const solve = async (more) => s.post("/v1/plans", { ...PROBLEM, ...more });

test("the plan keeps to the five dimensions, and the exact search is no slower", async () => {
  const { status, json: plan } = await solve({ method: "pangu-5d" });
  assert.equal(status, 201, JSON.stringify(plan));
  const all = [plan.solution, ...plan.alternatives.map((a) => a.solution), ...plan.frontier.map((a) => a.solution)];
  for (const x of all) {
    assert.equal(8 % x.tp, 0);
    assert.deepEqual([x.cp, x.ep, x.vpp, x.sequence_parallel], [1, 1, 1, false]);
    assert.ok([0, 1].includes(x.zero) && ["none", "full"].includes(x.recompute));
  }
  assert.ok(plan.warnings.some((w) => w.code === "restricted"));
  assert.ok(plan.quality.proved.includes("within the constraints"));
  const { json: exact } = await solve({ method: "exact" });
  assert.ok(exact.predicted.step_seconds <= plan.predicted.step_seconds * (1 + 1e-9));
});

test("constraints narrow it further, and what lies outside is told", async () => {
  const { json: plan } = await solve({ method: "pangu-5d", constraints: { tp: [4, 8, 16], recompute: ["selective", "full"] } });
  assert.ok([4, 8].includes(plan.solution.tp));
  assert.equal(plan.solution.recompute, "full");
  for (const [constraints, pointer] of [[{ tp: 16 }, "/constraints/tp"], [{ zero: [2, 3] }, "/constraints/zero"], [{ cp: 2 }, "/constraints/cp"],
    [{ recompute: "selective" }, "/constraints/recompute"], [{ sequence_parallel: true }, "/constraints/sequence_parallel"]]) {
    const { status, json } = await solve({ method: "pangu-5d", constraints });
    assert.equal(status, 422);
    assert.equal(json.errors[0].pointer, pointer);
  }
});

// Of nine devices a server eight can be used as before, though no two, four or eight ranks divide nine.
test("more devices in each server never make the plan worse", async () => {
  const on = async (devices_per_node) => {
    const { status, json } = await solve({ method: "pangu-5d", cluster: { ...PROBLEM.cluster, devices_per_node } });
    assert.ok([200, 201].includes(status), json.detail); // the first is that of another test
    assert.ok(json.solution.tp <= devices_per_node && PROBLEM.model.heads % json.solution.tp === 0);
    return json.predicted.step_seconds;
  };
  const eight = await on(8);
  for (const more of [9, 11, 13]) assert.ok(await on(more) <= eight * (1 + 1e-9), `${more} a server`);
});
