// What-if replays: the user's own questions, over the socket, with answers calculated by hand.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { tar } from "./inputs.mjs";
import { Service } from "./service.mjs";

let s, id;

// Two ranks: a kernel of 100 or 150 us, a collective that ends at 200 us on both, a call that waits for it, and a
// kernel that is launched 10 us behind that.
function made(rank) {
  const gpu = (tid, name, ts, dur, correlation, args = {}) => ({ ph: "X", cat: "kernel", name, pid: 0, tid, ts, dur, args: { device: 0, stream: tid, correlation, ...args } });
  const host = (cat, name, ts, dur, correlation) => ({ ph: "X", cat, name, pid: 50, tid: 60, ts, dur, args: { correlation } });
  const first = 100 + 50 * rank;
  return Buffer.from(JSON.stringify({ schemaVersion: 1, distributedInfo: { rank, world_size: 2 }, traceEvents: [
    host("cpu_op", "aten::mm", 0, 5),
    host("cuda_runtime", "cudaLaunchKernel", 1, 2, 1),
    gpu(7, "void gemm<1>(float*)", 7, first, 1),
    host("cuda_runtime", "cudaLaunchKernelExC", 6, 2, 2),
    gpu(9, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 9 + first, 191 - first, 2, { "Process Group Name": "0", "Collective name": "allreduce", "Seq": 1 }),
    host("cuda_runtime", "cudaDeviceSynchronize", 10, 195, 3),
    host("cuda_runtime", "cudaLaunchKernel", 215, 2, 4),
    gpu(7, "second", 221, 10, 4),
  ] }));
}

before(async () => {
  s = await Service.start();
  const { json } = await s.upload("job", tar([["rank0.json", made(0)], ["rank1.json", made(1)]]));
  assert.equal(json.state, "ready");
  id = json.id;
});
after(() => s.stop());

const ask = (changes) => s.post(`/v1/profiles/${id}/replays`, { changes });
const replayed = async (...changes) => {
  const { status, json } = await ask(changes);
  assert.equal(status, 200, JSON.stringify(json));
  assert.equal(json.measured_step_us, 231);
  assert.equal(json.unchanged_error, 0);
  assert.deepEqual(json.ranks.map((r) => [r.rank, r.measured_us]), [[0, 231], [1, 231]]);
  assert.ok(Math.abs(json.gain_us - (231 - json.replayed_step_us)) < 1e-6);
  return json;
};

test("a faster collective moves what waits for it, and waiting stays waiting", async () => {
  // of its 41 us on the rank that comes last, half
  const json = await replayed({ kind: "communication", operation: "all_reduce", factor: 0.5 });
  assert.equal(json.replayed_step_us, 210.5);
  assert.equal(json.changes[0].events_matched, 2);
  assert.deepEqual(json.warnings, []);
  assert.equal((await replayed({ kind: "communication", factor: 0.5 })).replayed_step_us, 210.5);
  assert.equal((await replayed({ kind: "communication", factor: 2 })).replayed_step_us, 272);
});

test("a rank as fast as the other", async () => {
  const json = await replayed({ rank: 1, like: "median" });
  // 110 us of kernels over 160: its first kernel takes 103.125 us
  assert.equal(json.changes[0].compute_factor, 0.6875);
  assert.equal(json.changes[0].host_factor, 1);
  assert.equal(json.replayed_step_us, 231 - 46.875);
  // the early rank has nothing to gain
  assert.equal((await replayed({ rank: 0, like: "median" })).replayed_step_us, 231);
});

test("an operator that is gone takes its kernels and its host time along", async () => {
  const json = await replayed({ operator: "aten::mm", factor: 0 });
  assert.equal(json.changes[0].events_matched, 4);
  // launched at 0, over at 6, collective from 8 to 49, call back at 54, launch at 64, kernel from 70 to 80
  assert.equal(json.replayed_step_us, 80);
  // the kernel alone, by its type: now the collective waits for its own launch, at 6, and 5 us (no launch of a
  // collective shows how long one takes); it ends at 52
  assert.equal((await replayed({ operator: "gemm", factor: 0 })).replayed_step_us, 83);
});

test("changes count together, and one rank alone can be changed", async () => {
  const both = await replayed({ kind: "compute", factor: 0.5, rank: 1 }, { kind: "communication", factor: 0.5 });
  // rank 1 comes at 84, rank 0 at 109: the collective ends at 109 + 20.5, the last kernel of rank 0 41.5 + 29 earlier
  assert.equal(both.replayed_step_us, 231 - 70.5);
  assert.deepEqual(both.changes.map((c) => c.events_matched), [2, 2]);
});

test("what matches nothing is told", async () => {
  // a word without letters and digits is in no name
  const json = await replayed({ operator: "aten::conv2d", factor: 0 }, { kind: "copy", factor: 0 }, { kind: "communication", operation: "!!!", factor: 0 });
  assert.equal(json.replayed_step_us, 231);
  assert.deepEqual(json.changes.map((c) => c.events_matched), [0, 0, 0]);
  assert.deepEqual(json.warnings.map((w) => w.code), ["no_match", "no_match", "no_match"]);
});

test("requests that make no sense are refused with their place", async () => {
  const refused = async (changes, status, pointer) => {
    const { status: got, json } = await ask(changes);
    assert.equal(got, status, JSON.stringify(json));
    assert.equal(json.errors?.[0].pointer, pointer);
  };
  await refused([{ kind: "compute", operator: "x", factor: 1 }], 400, "/changes/0");
  await refused([{ factor: 1 }], 400, "/changes/0");
  await refused([{ kind: "compute" }], 400, "/changes/0/factor");
  await refused([{ kind: "compute", factor: "1" }], 400, "/changes/0/factor");
  await refused([{ kind: "compute", factor: 1, faktor: 1 }], 400, "/changes/0/faktor");
  await refused([{ kind: "compute", operation: "all_reduce", factor: 1 }], 400, "/changes/0/operation");
  await refused([{ like: "median" }], 400, "/changes/0/rank");
  await refused([{ rank: 1, like: "median", factor: 1 }], 400, "/changes/0/factor");
  await refused([{ kind: "compute", factor: -1 }], 422, "/changes/0/factor");
  await refused([{ operator: "", factor: 1 }], 422, "/changes/0/operator");
  await refused([], 422, "/changes");
  await refused("all", 400, "/changes");
  assert.equal((await s.post(`/v1/profiles/${id}/replays`, {})).status, 400);
  assert.equal((await s.post("/v1/profiles/00000000000000000000000000000000/replays", { changes: [{ kind: "compute", factor: 1 }] })).status, 404);
  assert.equal((await s.get(`/v1/profiles/${id}/replays`)).status, 405);
});

test("a profile without device work is not replayed", async () => {
  const bytes = Buffer.from(JSON.stringify({ schemaVersion: 1, traceEvents: [{ ph: "X", cat: "cpu_op", name: "aten::mm", pid: 1, tid: 1, ts: 0, dur: 5 }] }));
  const { json } = await s.upload("host", bytes);
  const answer = await s.post(`/v1/profiles/${json.id}/replays`, { changes: [{ kind: "compute", factor: 1 }] });
  assert.equal(answer.status, 422);
  assert.equal(answer.json.code, "not_replayable");
});
