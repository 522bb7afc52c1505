// The critical path over the socket: its parts, views, choices and refusals.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { tar } from "./inputs.mjs";
import { Service } from "./service.mjs";

let s, profile;
const PARTS = ["compute", "communication", "copy", "host", "gap"];
const ns = (us) => Math.round(us * 1000);
const sum = (o) => PARTS.reduce((total, part) => total + ns(o[`${part}_us`]), 0);

// One rank: the kernel, then a collective that ends at 40 us on both ranks, then another kernel, launched late.
function made(rank, kernel) {
  const gpu = (tid, name, ts, dur, args = {}) => ({ ph: "X", cat: "kernel", name, pid: 0, tid, ts, dur, args: { device: 0, stream: tid, ...args } });
  return Buffer.from(JSON.stringify({ schemaVersion: 1, distributedInfo: { rank, world_size: 2 }, traceEvents: [
    { ph: "X", cat: "cpu_op", name: "aten::add", pid: 50, tid: 60, ts: 0, dur: 5 },
    gpu(7, "first", 1, kernel),
    gpu(9, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1 + kernel, 39 - kernel, { "Process Group Name": "0", "Collective name": "allreduce", "In msg nelems": 4, "Out msg nelems": 4, dtype: "Float", "Seq": 1 }),
    { ph: "X", cat: "cpu_op", name: "aten::mul", pid: 50, tid: 60, ts: 41, dur: 6 },
    { ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 50, tid: 60, ts: 43, dur: 2, args: { correlation: 4 } },
    gpu(7, "second <b>", 48, 2, { correlation: 4 }),
  ] }));
}

before(async () => {
  s = await Service.start();
  profile = (await s.upload("path", tar([["rank0.json", made(0, 10)], ["rank1.json", made(1, 30)]]))).json;
  assert.equal(profile.state, "ready");
});
after(() => s.stop());

const path = (query = "", id = profile.id) => s.get(`/v1/profiles/${id}/critical-path${query}`);

test("the parts of a rank's path add up to its span", async () => {
  const { json } = await path("?rank=0");
  assert.deepEqual([json.rank, json.device, json.across_ranks, json.origin_ns, json.works], [0, 0, false, "0", 3]);
  // first 10, collective 29, host 40..45 (1 us unrecorded, 4 of aten::mul), gap 45..48, second 2
  assert.deepEqual(PARTS.map((part) => json[`${part}_us`]), [12, 29, 0, 5, 3]);
  assert.equal(json.span_us, 49);
  assert.deepEqual(json.events.map((e) => [e.start_us, e.dur_us, e.name, e.category, e.rank]), [
    [1, 10, "first", "compute", 0], [11, 29, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "communication", 0], [40, 1, null, "host", 0],
    [41, 4, "aten::mul", "host", 0], [45, 3, null, "gap", 0], [48, 2, "second <b>", "compute", 0]]);
  assert.deepEqual(json.operators.map((o) => [o.name, o.count, o.total_us]),
    [["ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1, 29], ["first", 1, 10], ["aten::mul", 1, 4], ["second <b>", 1, 2]]);
});

test("across ranks the path goes through the rank that came last", async () => {
  const { json } = await path();
  assert.deepEqual([json.across_ranks, json.rank, json.origin_ns, json.works], [true, null, null, 6]);
  // on rank 1 the first kernel takes 30 us, and the collective 9
  assert.deepEqual(PARTS.map((part) => json[`${part}_us`]), [32, 9, 0, 5, 3]);
  assert.deepEqual([json.events[0].rank, json.events.at(-1).rank], [1, 0]);
});

test("a view is cut to the nanosecond, and the limit only cuts the list", async () => {
  const view = (await path("?rank=0&from_us=10.5&to_us=42")).json;
  assert.deepEqual(PARTS.map((part) => view[`${part}_us`]), [0.5, 29, 0, 2, 0]);
  assert.deepEqual([view.span_us, sum(view), view.from_us, view.to_us], [31.5, 31500, 10.5, 42]);
  const few = (await path("?rank=0&limit=2")).json;
  assert.deepEqual([few.events.length, few.left_out, few.span_us], [2, 4, 49]);
});

test("what cannot be is refused", async () => {
  for (const query of ["?rank=7", "?rank=-1", "?rank=0&from_us=x", "?rank=0&from_us=9&to_us=8", "?limit=0", "?limit=100001", "?device=1", "?source=no", "?px=3"])
    assert.equal((await path(query)).status, 400, query);
  assert.equal((await path("", "0198f2b0-0000-7000-8000-000000000000")).status, 404);
  const empty = (await s.upload("host", Buffer.from(JSON.stringify({ traceEvents: [{ ph: "X", cat: "cpu_op", name: "aten::add", pid: 5, tid: 6, ts: 1, dur: 5 }] })))).json;
  const none = await path("", empty.id);
  assert.deepEqual([none.status, none.json.span_us, none.json.events], [200, null, []]);
});

test("a real capture has the stated path", { skip: !process.env.SIGNALBOX_SHARED }, async () => {
  // samples/ascend/expected.md, section 4; its gaps are told apart into late launches and the rest
  const bundle = readFileSync(`${process.env.SIGNALBOX_SHARED}/samples/ascend/bundles/pytorch_text_level1_2ranks.tar.gz`);
  const { id } = (await s.upload("level 1", bundle)).json;
  const { json } = await path("?rank=1", id);
  assert.deepEqual([json.works, json.communication_us, json.compute_us, json.copy_us, json.span_us], [191, 100375.284, 4858.725, 0, 131912.615]);
  assert.equal(ns(json.host_us) + ns(json.gap_us), 26678606);
});
