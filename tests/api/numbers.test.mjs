// Every number of an answer can be: none is below 0 or lacks what it is a share of, and every text is UTF-8, whatever the
// trace holds (reports kineto#80 and #988, HTA#18, #20, #21, #59, xprof#564, torchtune#1662).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service } from "./service.mjs";

let s;
before(async () => {
  s = await Service.start();
});
after(() => s.stop());

const PARTS = ["", "/breakdown", "/operators", "/operators?by=name", "/communication", "/critical-path", "/timeline", "/timeline?px=7",
  "/memory", "/analysis", "/advice"];

// The answers to every question about a profile, as bytes and as values.
async function answers(name, bytes) {
  const sent = await s.upload(name, bytes);
  assert.equal(sent.status, 201, String(sent.body));
  return Promise.all(PARTS.map(async (part) => {
    const { status, body, json } = await s.get(`/v1/profiles/${sent.json.id}${part}`);
    assert.equal(status, 200, `${part}: ${body}`);
    return { part, body, json };
  }));
}

function* numbers(value, path = "") {
  if (typeof value === "number") yield [path, value];
  else if (value !== null && typeof value === "object")
    for (const [key, v] of Object.entries(value)) yield* numbers(v, `${path}/${key}`);
}

function allCanBe(list) {
  let count = 0;
  for (const { part, json } of list)
    for (const [path, v] of numbers(json)) {
      // a text that lacks a number has none to be parsed; JSON itself has neither NaN nor infinity
      assert.ok(v >= 0, `${part}${path} is ${v}`);
      count++;
    }
  assert.ok(count > 100, "there are numbers");
}

const span = (cat, name, pid, tid, ts, dur, args = {}) => ({ ph: "X", cat, name, pid, tid, ts, dur, args });
const device = (cat, name, ts, dur, args = {}) => span(cat, name, 0, 7, ts, dur, { device: 0, stream: 7, ...args });
const launch = (ts, dur, correlation) => span("cuda_runtime", "cudaLaunchKernel", 9, 9, ts, dur, { correlation });

// HTA's sample negative_queue rebuilt: integer microseconds, in which a kernel seems to end with its launch, to begin before
// it, or to last no time; copies of no length; releases of what was held before the capture.
function sameMicrosecond() {
  const events = [span("user_annotation", "ProfilerStep#3", 9, 9, 1000, 0), span("user_annotation", "ProfilerStep#4", 9, 9, 1000, 100)];
  for (let i = 0; i < 20; i++) {
    const at = 1000 + 4 * i;
    events.push(launch(at, i % 3, i + 1), device("kernel", `gemm_${i % 4}`, at - (i % 2), i % 3, { correlation: i + 1 }));
    events.push(span("cpu_op", "aten::mm", 9, 9, at, i % 2), span("cpu_op", "aten::mm", 9, 9, at, 0));
  }
  events.push(device("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 1080, 0, { bytes: 4096, "memory bandwidth (GB/s)": -1 }));
  events.push(device("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 1081, 1, { bytes: -8, correlation: -1 }));
  events.push(device("gpu_memset", "Memset (Device)", 1083, 0, { bytes: 0 }));
  events.push(device("kernel", "ncclDevKernel_AllReduce", 1084, 0, { "Collective name": "allreduce", dtype: "Float",
    "In msg nelems": -4, "Out msg nelems": 0 }));
  events.push(device("kernel", "ncclDevKernel_AllGather", 1084, -2, { "Collective name": "allgather", dtype: "Float",
    "In msg nelems": 8, "Out msg nelems": 16 }));
  for (const bytes of [-512, 256, -512])
    events.push({ ph: "i", s: "t", name: "[memory]", pid: 9, tid: 9, ts: 1085, args: { "Device Type": 1, "Device Id": 0, Bytes: bytes, Addr: 5 } });
  return Buffer.from(JSON.stringify({ schemaVersion: 1, traceEvents: events }));
}

test("nothing is negative where events share a microsecond or last none", async () => {
  allCanBe(await answers("same.json", sameMicrosecond()));
});

test("nothing is negative where links carried bytes in no time", async () => {
  const times = (v) => ({ "Start Timestamp(us)": 1e15, "Elapse Time(ms)": v, "Transit Time(ms)": v, "Wait Time(ms)": v,
    "Synchronization Time(ms)": v, "Idle Time(ms)": -v });
  const link = (size, ms) => ({ "Transit Size(MB)": size, "Transit Time(ms)": ms, "Bandwidth(GB/s)": -1, "Large Packet Ratio": 0,
    "Size Distribution": { 1: [1, ms], 0: [3, 0] } });
  const all = {};
  for (let i = 0; i < 12; i++)
    all[`hcom_allReduce__1_${i}_1@g`] = { "Communication Time Info": times(i % 2),
      "Communication Bandwidth Info": { HCCS: link(i, 0), SDMA: link(i, i % 3), RDMA: link(0, 0) } };
  allCanBe(await answers("communication.json", JSON.stringify({ step1: { p2p: {}, collective: all } })));
});

// A share says of what: time over the time of all, and parts that make up the whole.
test("shares are what their numbers say", async () => {
  const all = Object.fromEntries((await answers("same.json", sameMicrosecond())).map((a) => [a.part, a.json]));
  const rows = all["/operators?by=name"].rows;
  // device time by the kernels that the operators launched: 20 of 0, 1, 2, 0, … us; and a copy of 1
  const sums = {};
  for (const r of rows) (sums[r.class] ??= []).push(r.total_us);
  for (const [name, list] of Object.entries(sums)) sums[name] = list.reduce((n, v) => n + v, 0);
  assert.equal(sums.compute, 19);
  assert.equal(sums.copy, 1);
  for (const r of rows) assert.ok(Math.abs(r.share - (sums[r.class] && r.total_us / sums[r.class])) < 1e-9, JSON.stringify(r));
  const b = all["/breakdown"].rows.find((r) => r.step === null);
  assert.ok(Math.abs(b.compute_us + b.communication_exposed_us + b.copy_exposed_us + b.free_us - b.span_us) < 1e-6);
  const [tree] = [all["/analysis"].tree].flat();
  const walk = (node) => {
    assert.ok(Math.abs(node.share - node.time_us / tree.time_us) < 1e-9, node.id);
    node.children.forEach(walk);
  };
  if (tree) walk(tree);
  for (const f of all["/analysis"].findings)
    for (const e of f.evidence) assert.ok(e.unit !== "share" || (e.value >= 0 && e.value <= 1), JSON.stringify(e));
});

// Names are cut at a number of bytes, in the middle of a character, or hold Latin-1.
test("answers are UTF-8 whatever a name holds", async () => {
  const text = Buffer.from(sameMicrosecond().toString().replaceAll("gemm_1", "gemm_~").replaceAll("aten::mm", "aten::~")
    .replaceAll("gemm_2", "gemm_\\ud83d"), "latin1");
  for (let i = 0; i < text.length; i++) if (text[i] === 0x7e) text[i] = i % 2 ? 0xe4 : 0xff;
  const list = await answers("odd.json", text);
  for (const { body } of list) new TextDecoder("utf-8", { fatal: true }).decode(body);
  const names = list.find((a) => a.part === "/operators?by=name").json.rows.map((r) => r.name);
  assert.ok(names.filter((n) => n.startsWith("gemm_\ufffd")).length >= 2, names.join());
});
