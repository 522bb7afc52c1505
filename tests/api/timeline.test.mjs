// The timeline: against a plain computation over the events that were sent, over the socket, by the schema.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { random, seedOf, tar } from "./inputs.mjs";
import { Service } from "./service.mjs";

let s, profile, events;
const seed = seedOf(), rand = random(seed);

// Events on two streams and a thread; all times are whole nanoseconds, in us.
function made(rank, count) {
  const below = (n) => Math.floor(rand() * n);
  const list = Array.from({ length: count }, (_, i) => {
    const lane = below(3);
    return { lane, ts: 5 + below(2_000_000) / 1000, dur: below(5) === 0 ? 0 : below(9000) / 1000, name: `op ${i % 7}` };
  });
  const traceEvents = list.map((e) => e.lane === 2
    ? { ph: "X", cat: "cpu_op", name: e.name, pid: 50, tid: 60, ts: e.ts, dur: e.dur }
    : { ph: "X", cat: "kernel", name: e.name, pid: 0, tid: 7 + e.lane, ts: e.ts, dur: e.dur, args: { device: 0, stream: 7 + e.lane } });
  return { list, body: Buffer.from(JSON.stringify({ schemaVersion: 1, distributedInfo: { rank, world_size: 2 }, traceEvents })) };
}

before(async () => {
  s = await Service.start();
  const all = made(0, 3000);
  events = all.list;
  profile = (await s.upload("timeline", all.body)).json;
  assert.equal(profile.state, "ready");
});
after(() => s.stop());

const view = (query = "", id = profile.id) => s.get(`/v1/profiles/${id}/timeline${query}`);
const ns = (us) => Math.round(us * 1000);

// The columns of a lane, in integers.
function columns(lane, origin, from, to, px) {
  const spans = events.filter((e) => e.lane === lane).map((e) => [ns(e.ts) - origin, ns(e.ts) + ns(e.dur) - origin])
    .sort((a, b) => a[0] - b[0]);
  const rows = [];
  for (let i = 0; i < px; i++) {
    const a = from + Math.floor((to - from) * i / px), b = from + Math.floor((to - from) * (i + 1) / px);
    let busy = 0, reach = a;
    for (const [start, end] of spans) {
      const x = Math.max(start, reach), y = Math.min(end, b);
      if (y > x) { busy += y - x; reach = y; }
    }
    const count = spans.filter(([start]) => start >= a && start < b).length;
    if (busy > 0 || count > 0) rows.push([i, busy / (b - a), lane === 2 ? "host_op" : "kernel", count]);
  }
  return rows;
}

test("columns and events are as a plain computation has them", async (t) => {
  t.diagnostic(`seed ${seed} (SEED=${seed} repeats it)`);
  const origin = Math.min(...events.map((e) => ns(e.ts)));
  assert.equal((await view()).json.origin_ns, String(origin));
  let binned = 0, listed = 0;
  for (let round = 0; round < 30; round++) {
    const from = round === 0 ? 0 : Math.floor(rand() * 2_000_000), to = round === 0 ? 2_100_000 : from + 1 + Math.floor(rand() ** 3 * 2_000_000);
    const px = 1 + Math.floor(rand() * 60);
    const { status, json } = await view(`?from_us=${from / 1000}&to_us=${to / 1000}&px=${px}`);
    assert.equal(status, 200);
    assert.deepEqual(json.lanes.map((l) => [l.id, l.kind, l.device]), [[0, "device", 0], [1, "device", 0], [2, "host", null]]);
    json.lanes.forEach((lane, i) => {
      const mine = events.filter((e) => e.lane === i).map((e) => [ns(e.ts) - origin, ns(e.dur), e.name]);
      const inside = mine.filter(([a, d]) => a < to && (a >= from || a + d > from));
      assert.equal(lane.count, mine.filter(([a]) => a >= from && a < to).length);
      if (lane.events) {
        listed++;
        assert.ok(inside.length <= px);
        const text = (rows) => rows.map((r) => JSON.stringify(r)).sort();
        assert.deepEqual(text(lane.events.map(([a, d, name]) => [ns(a), ns(d), name])), text(inside));
        return;
      }
      binned++;
      assert.ok(inside.length > px);
      const wanted = columns(i, origin, from, to, px);
      assert.deepEqual(lane.bins.map(([x, , category, count]) => [x, category, count]), wanted.map(([x, , category, count]) => [x, category, count]));
      lane.bins.forEach(([, busy], k) => assert.ok(Math.abs(busy - wanted[k][1]) <= 5.1e-7, `${busy} ${wanted[k][1]}`));
      assert.equal(lane.bins.reduce((sum, bin) => sum + bin[3], 0), lane.count);
    });
  }
  assert.ok(binned > 5 && listed > 5, `${binned} binned, ${listed} listed`);
});

test("an answer has a tag, and is packed for those who ask", async () => {
  const first = await view("?px=200");
  assert.match(first.headers.etag, /^"[^"]+"$/);
  assert.equal((await view("?px=200")).headers.etag, first.headers.etag);
  assert.notEqual((await view("?px=201")).headers.etag, first.headers.etag);
  const same = await s.get(`/v1/profiles/${profile.id}/timeline?px=200`, { headers: { "If-None-Match": first.headers.etag } });
  assert.equal(same.status, 304);
  assert.equal(same.body.length, 0);
  const packed = await s.get(`/v1/profiles/${profile.id}/timeline?px=200`, { headers: { "Accept-Encoding": "gzip" } });
  assert.equal(packed.headers["content-encoding"], "gzip");
  assert.ok(packed.body.length < first.body.length / 2);
});

test("of several ranks one must be named, and the error lists them", async () => {
  const two = (await s.upload("two", tar([["a.json", made(4, 20).body], ["b.json", made(9, 20).body]]))).json;
  const answer = await view("", two.id);
  assert.equal(answer.status, 400);
  assert.deepEqual(answer.json.errors.map((e) => e.pointer), ["/query/rank"]);
  assert.match(answer.json.detail, /4, 9/);
  assert.equal((await view("?rank=9", two.id)).json.rank, 9);
  assert.equal((await view("?rank=5", two.id)).status, 400);
  assert.equal((await view("?rank=9", "00000000-0000-7000-8000-000000000000")).status, 404);
});

test("captures without a rank are told apart by their paths", async () => {
  const bare = (name) => Buffer.from(JSON.stringify({ schemaVersion: 1, traceEvents: [{ ph: "X", cat: "cpu_op", name, pid: 1, tid: 1, ts: 10, dur: 5 }] }));
  const upload = await s.upload("bare", tar([["run/b & c.json", bare("second")], ["run/a.json", bare("first")], ["ranked.json", made(4, 20).body]]));
  assert.equal(upload.json.state, "ready", JSON.stringify(upload.json));
  const { id, ranks, unranked } = upload.json;
  assert.deepEqual(ranks, [4]);
  assert.equal(unranked.length, 2);
  assert.match(unranked[0], /run\/a\.json$/);
  assert.match(unranked[1], /run\/b & c\.json$/);
  const none = await view("", id);
  assert.equal(none.status, 400);
  assert.match(none.json.detail, /There are: 4, unknown \(source=.*a\.json\), unknown \(source=.*b & c\.json\)$/);
  for (const [i, name] of ["first", "second"].entries()) {
    const { status, json } = await view(`?source=${encodeURIComponent(unranked[i])}`, id);
    assert.equal(status, 200);
    assert.deepEqual([json.rank, json.source, json.lanes[0].events[0][2]], [null, unranked[i], name]);
  }
  const ranked = (await view("?rank=4", id)).json.source;
  assert.match(ranked, /ranked\.json$/);
  assert.equal((await view(`?source=${encodeURIComponent(ranked)}`, id)).json.rank, 4);
  assert.equal((await view("?rank=unknown", id)).json.source, unranked[0]);
  const lost = await view("?source=nothing", id);
  assert.equal(lost.status, 400);
  assert.deepEqual(lost.json.errors.map((e) => e.pointer), ["/query/source"]);
  assert.equal((await view(`?rank=4&source=${encodeURIComponent(unranked[0])}`, id)).status, 400);
});

test("kernel rows without a trace become lanes", async () => {
  const rows = "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim\n" +
    "1,0,4294967295,1,2,MatMul1,MatMul,dynamic,AI_CORE,1000.000,20.000,0,8\n" +
    "1,0,4294967295,2,2,Add1,Add,dynamic,AI_VECTOR_CORE,1021.500,2.250,0,8\n" +
    "1,0,4294967295,3,9,hcom_allReduce__1,hcom_allReduce_,N/A,HCCL,1010.000,35.000,0,0\n";
  const upload = await s.upload("table", tar([["x_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv", Buffer.from(rows)]]));
  assert.equal(upload.json.state, "ready", JSON.stringify(upload.json));
  const { status, json } = await view("", upload.json.id);
  assert.equal(status, 200);
  assert.equal(json.origin_ns, "1000000");
  assert.equal(json.to_us, 45);
  assert.deepEqual(json.lanes.map(({ id, name, kind, device, count, events }) => [id, name, kind, device, count, events]), [
    [0, "Communication", "communication", null, 1, [[10, 35, "hcom_allReduce__1", "communication"]]],
    [1, "Kernels · AI_CORE", "device", null, 1, [[0, 20, "MatMul1", "kernel"]]],
    [2, "Kernels · AI_VECTOR_CORE", "device", null, 1, [[21.5, 2.25, "Add1", "kernel"]]],
  ]);
});

test("every kind of event has a category", async () => {
  const schema = JSON.parse(readFileSync(new URL("../../profiler/read/signalbox_profile.schema.json", import.meta.url)));
  const kinds = schema.$defs.event.properties.kind.enum;
  assert.ok(kinds.includes("data_loading") && kinds.includes("garbage_collection") && kinds.includes("host_wait"), kinds.join());
  const document = { signalbox_profile: 1, lanes: [{ id: 0, process: "p", thread: "t" }],
    events: kinds.map((kind, i) => ({ lane: 0, kind, name: kind, start_ns: 1000 * i, duration_ns: 500 })) };
  const upload = await s.upload("kinds", Buffer.from(JSON.stringify(document)));
  assert.equal(upload.json.state, "ready", JSON.stringify(upload.json));
  const { status, json } = await view("", upload.json.id);
  assert.equal(status, 200);
  const seen = new Map(json.lanes.flatMap((lane) => lane.events.map(([, , name, category]) => [name, category])));
  assert.equal(seen.size, kinds.length);
  assert.equal(new Set(seen.values()).size, kinds.length);
  assert.deepEqual(["data_loading", "host_wait", "garbage_collection"].map((kind) => seen.get(kind)), ["host_loading", "host_wait", "host_garbage"]);
  assert.equal((await view("?px=1", upload.json.id)).status, 200);
});

test("a profile without events has an empty timeline", async () => {
  const rows = "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble\n1,10.0,2.0,1.0,3.0,5.0,17.0,0.0\n";
  const upload = await s.upload("sums", tar([["x_ascend_pt/ASCEND_PROFILER_OUTPUT/step_trace_time.csv", Buffer.from(rows)]]));
  assert.equal(upload.json.state, "ready", JSON.stringify(upload.json));
  const { status, json } = await view("", upload.json.id);
  assert.equal(status, 200);
  assert.deepEqual(json, { origin_ns: null, rank: null, source: null, from_us: 0, to_us: 0, px: 1600, lanes: [], left_out: { lanes: 0, events: 0 } });
});

test("thousands of threads: lanes are cut, and it is told", async () => {
  const traceEvents = Array.from({ length: 3000 }, (_, i) => ({ ph: "X", cat: "cpu_op", name: "op", pid: 1, tid: i, ts: 10 + i, dur: 5 }));
  const many = (await s.upload("many", Buffer.from(JSON.stringify({ schemaVersion: 1, traceEvents })))).json;
  const some = (await view("", many.id)).json;
  assert.equal(some.lanes.length, 100);
  assert.deepEqual(some.left_out, { lanes: 2900, events: 2900 });
  const all = (await view("?limit=10000", many.id)).json;
  assert.equal(all.lanes.length, 3000);
  assert.deepEqual(all.left_out, { lanes: 0, events: 0 });
  assert.deepEqual((await view("?lane=2999,5", many.id)).json.lanes.map((l) => l.id), [5, 2999]);
});

test("a profile that is deleted while it is looked at", async () => {
  const { id } = (await s.upload("gone", made(0, 500).body)).json;
  const looks = Array.from({ length: 40 }, () => view("?px=100", id));
  const deleted = await s.request("DELETE", `/v1/profiles/${id}`);
  assert.equal(deleted.status, 204);
  for (const look of await Promise.all(looks)) assert.ok([200, 404].includes(look.status), String(look.status));
  assert.equal((await view("", id)).status, 404);
});
