// Offload in the exact search: taken where nothing fits without or where it is quicker, constrained, explained, and what would help where nothing fits.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service } from "./service.mjs";

let s;
before(async () => { s = await Service.start(); });
after(() => s.stop());

const request = (more = {}) => ({ kind: "strategy", model: "llama3-70b", cluster: "dgx-a100-80g", batch: { global_sequences: 64 }, ...more });
const ask = (more) => s.post("/v1/plans", request(more));
// 70.6e9 x 18 bytes are 1270 GB, 159 of them a device, of which 76 may be used.
const THINGS = ["weights", "gradients", "optimizer", "activations"];

test("what does not fit on the devices is kept on their host, and estimated as searched", async () => {
  const { status, json: plan } = await ask();
  assert.equal(status, 201, JSON.stringify(plan));
  const { offload, stages, devices_used, micro_batches, ...rest } = plan.solution, { predicted } = plan;
  assert.ok(THINGS.some((t) => offload[t] > 0));
  // one at most in part: the others whole or not at all, and where layers are recomputed in part none of them
  assert.ok(THINGS.filter((t) => offload[t] > 0 && offload[t] < 1).length <= 1);
  // 8 x (159 - 76) GB do not fit on the devices
  assert.ok(predicted.fits && predicted.host_memory_bytes > 8 * 80e9 && predicted.host_memory_bytes <= 2e12);
  assert.ok(predicted.memory_bytes <= 76e9 && predicted.breakdown.offload_seconds > 0);
  const host = plan.explanation.traffic.find((t) => t.between === "host");
  assert.ok(host.bytes > 0 && host.ranks === 1 && host.seconds <= predicted.step_seconds);
  const { json: same } = await s.post("/v1/plans", { ...request(), kind: "estimate", strategy: { ...rest, offload, stages } });
  assert.equal(same.predicted.step_seconds, predicted.step_seconds);
  assert.equal(same.predicted.memory_bytes, predicted.memory_bytes);
  assert.equal(same.predicted.host_memory_bytes, predicted.host_memory_bytes);
});

test("a request says what may be offloaded", async () => {
  for (const none of ["none", false, ["none"]]) {
    const { status, json } = await ask({ constraints: { offload: none } });
    assert.equal(status, 422);
    assert.ok(json.nearest.without_constraint.includes("offload"), JSON.stringify(json.nearest));
    assert.ok(json.least_memory_bytes > 80e9 && json.nearest.host_memory_bytes === undefined);
  }
  for (const only of [["optimizer"], ["optimizer", "activations"], "optimizer"]) {
    const { status, json } = await ask({ constraints: { offload: only } });
    assert.equal(status, 201, JSON.stringify(json));
    for (const t of THINGS) assert.ok([only].flat().includes(t) || json.solution.offload[t] === 0);
  }
  assert.equal((await ask({ constraints: { offload: "everything" } })).status, 422);
  assert.equal((await ask({ constraints: { offload: true } })).status, 400);
});

test("where the host is too small or not known, the least that would do is told, and does", async () => {
  const plain = { nodes: 1, devices_per_node: 8, device: "a100-80g" }, link = { host_link_bytes_per_second: 2e10 };
  const { status, json } = await ask({ cluster: plain });
  assert.equal(status, 422);
  const least = json.nearest.host_memory_bytes;
  assert.ok(least > 8 * 80e9, JSON.stringify(json.nearest));
  assert.match(json.detail, /host_link_bytes_per_second/, "memory alone does not do");
  assert.equal((await ask({ cluster: { ...plain, ...link, host_memory_bytes: least } })).status, 201);
  const short = await ask({ cluster: { ...plain, ...link, host_memory_bytes: least - 1 } });
  assert.equal(short.status, 422);
  assert.doesNotMatch(short.json.detail, /host_link/);
  assert.equal(short.json.nearest.host_memory_bytes, least);
  const row = short.json.rejected.find((r) => r.reason === "host_memory");
  assert.ok(row.count > 0 && row.over_bytes > 0 && row.host_memory_bytes - row.over_bytes === least - 1);
});

test("offload that is quicker than all without is taken, and never makes a plan slower", async () => {
  const small = { model: "llama3-8b", cluster: "l4-8" };
  const free = (await ask(small)).json, none = (await ask({ ...small, constraints: { offload: false } })).json;
  assert.ok(free.predicted.step_seconds < none.predicted.step_seconds);
  assert.notEqual(free.solution.offload, "none");
  const roomy = { cluster: { preset: "dgx-h100", nodes: 8 } };
  const a = (await ask(roomy)).json, b = (await ask({ ...roomy, constraints: { offload: "none" } })).json;
  assert.ok(a.predicted.step_seconds <= b.predicted.step_seconds);
});

test("half of a host is not passed over in silence where a plan fits without it", async () => {
  const plain = { nodes: 2, devices_per_node: 8, device: "a100-80g", links: [{ scope: "node", bytes_per_second: 3e11 }, { scope: "cluster", bytes_per_second: 2.5e10 }] };
  const memory = { host_memory_bytes: 2e12 }, link = { host_link_bytes_per_second: 2e10 }, optimizer = { constraints: { offload: ["optimizer"] } };
  for (const [host, more, told] of [[memory, {}, /no host_link/], [link, {}, /no host_memory/], [{}, optimizer, /neither/], [memory, optimizer, /no host_link/],
    [{}, {}, null], [{ ...memory, ...link }, {}, null], [memory, { constraints: { offload: "none" } }, null], [memory, { method: "pangu-5d" }, null]]) {
    const { status, json } = await ask({ model: "llama3-8b", cluster: { ...plain, ...host }, ...more });
    assert.equal(status, 201, JSON.stringify(json));
    const found = json.warnings.filter((w) => w.code === "offload_not_considered");
    assert.equal(found.length, told ? 1 : 0, JSON.stringify([host, more]));
    if (told) assert.match(found[0].detail, told);
  }
});
