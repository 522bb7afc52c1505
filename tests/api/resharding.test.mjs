// The kind resharding: its schema says what it takes, each plan is one that the network can carry out, and what cannot be is told with its member.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { errorsOf } from "./schema.mjs";
import { PATIENCE_MS, run, Service } from "./service.mjs";

let s, schema;
before(async () => {
  s = await Service.start();
  schema = (await s.get("/v1/plan-kinds")).json.items.find((k) => k.kind === "resharding")?.schema;
});
after(() => s.stop());

const NIC = { bytes_per_second: 1.25e9 };
const mesh = (rows, columns, sharding) => ({ mesh: [rows, columns], devices_per_host: columns, sharding });
const problem = (more) => ({ kind: "resharding", tensor: { shape: [1024, 1024, 512], element_bytes: 4 }, nic: NIC,
  from: mesh(2, 4, [0, null, null]), to: mesh(2, 4, [0, null, null]), ...more });
const TASKS = { kind: "resharding", tasks: [2, 2, 3, 3].map((to) => ({ seconds: 1, senders: [0, 1], receivers: [to] })) };
const near = (a, b) => assert.ok(Math.abs(a - b) <= 1e-9 * Math.abs(b), `${a} is not ${b}`);

// No host does two things at once, whoever holds a piece sends it, and the last one ends when it is said.
function check(plan, senders) {
  const busy = new Map();
  let end = 0;
  for (const t of plan.solution.tasks) {
    if (t.sender === null) continue;
    assert.ok(!senders || senders(t).includes(t.sender));
    for (const h of [t.sender, ...t.receivers]) {
      for (const [from, to] of busy.get(h) ?? []) assert.ok(t.start_seconds >= to - 1e-12 || t.start_seconds + t.seconds <= from + 1e-12, `host ${h}`);
      busy.set(h, [...(busy.get(h) ?? []), [t.start_seconds, t.start_seconds + t.seconds]]);
    }
    end = Math.max(end, t.start_seconds + t.seconds);
  }
  near(plan.predicted.makespan_seconds, end);
  assert.ok(plan.quality.lower_bound <= plan.predicted.makespan_seconds);
  for (const a of plan.alternatives) assert.ok(a.predicted.makespan_seconds >= plan.predicted.makespan_seconds, a.reason);
  return plan;
}

// systems.md 3.6, check 2
test("four tasks that two hosts hold", async () => {
  assert.deepEqual(errorsOf(schema, schema, TASKS), []);
  const plan = check((await s.post("/v1/plans", TASKS)).json, () => [0, 1]);
  assert.equal(plan.predicted.makespan_seconds, 2);
  assert.equal(plan.quality.optimal, true);
  const naive = plan.alternatives.find((a) => a.solution.found_by === "naive");
  assert.deepEqual([naive.predicted.makespan_seconds, naive.loses_by], [4, 1]);
  assert.equal(plan.predicted.network_bytes, null); // no bytes were given
  assert.equal((await s.post("/v1/plans", { ...TASKS, method: "naive" })).json.predicted.makespan_seconds, 4);
});

// check 3: no worse than naive, and not faster than the busiest receiver's own bytes; shapes of AlpaComm's benchmark
test("meshes: between the naive plan and the busiest interface", async () => {
  for (const [shape, to] of [[[1024, 1024, 512], mesh(2, 4, [null, 0, null])], [[3072, 1024, 170], mesh(3, 4, [0, null, null])],
    [[1024, 1024, 512], mesh(3, 4, [0, null, null])], [[1024, 1024, 512], mesh(2, 4, [[0, 1], null, null])], [[1024, 1024, 512], mesh(2, 4, [null, null, null])]])
    for (const from of [[0, null, null], [null, null, null], [null, [0, 1], null], [null, null, 0]].map((x) => mesh(2, 4, x))) {
      const request = problem({ tensor: { shape, element_bytes: 4 }, from, to });
      assert.deepEqual(errorsOf(schema, schema, request), []);
      const { status, json } = await s.post("/v1/plans", request);
      assert.equal(status, 201, JSON.stringify(json));
      const plan = check(json), received = new Map();
      for (const t of plan.solution.tasks) for (const h of t.receivers) received.set(h, (received.get(h) ?? 0) + t.bytes);
      assert.ok(plan.predicted.makespan_seconds >= Math.max(...received.values()) / NIC.bytes_per_second * (1 - 1e-12));
      // every element once
      assert.equal(plan.solution.tasks.reduce((sum, t) => sum + t.slice.reduce((n, [a, b]) => n * (b - a), 1), 0), shape.reduce((a, b) => a * b, 1));
      assert.equal(plan.alternatives.filter((a) => a.solution.found_by === "naive" && a.solution.transfer === "best").length, 1);
      assert.deepEqual(plan.predicted.transfers.map((t) => t.transfer), ["send-recv", "local-all-gather", "broadcast"]);
    }
});

// A piece of 2^30 bytes to one host of four devices, t = 2^30 / 1.25e9: 4 t, t, and t (1 + 1 / K)
test("what each way of transfer costs", async () => {
  const t = 2 ** 30 / 1.25e9;
  for (const [transfer, seconds] of [["send-recv", 4 * t], ["local-all-gather", t], ["broadcast", t * 1.125], ["best", t]]) {
    const { json } = await s.post("/v1/plans", problem({ transfer, chunks: 8 }));
    near(json.predicted.makespan_seconds, seconds);
    assert.ok(json.warnings.some((w) => w.code === "local_not_counted"));
  }
  const { json } = await s.post("/v1/plans", problem({ transfer: "local-all-gather", local: { bytes_per_second: 1e10, latency_seconds: 0.5 } }));
  near(json.predicted.makespan_seconds, t + 0.5 + 0.75 * 2 ** 30 / 1e10);
  assert.deepEqual(json.warnings, []);
});

test("on the same hosts what is there is not sent", async () => {
  const { json } = await s.post("/v1/plans", problem({ to: { ...mesh(2, 4, [null, null, null]), first_host: 0 } }));
  assert.deepEqual(check(json).solution.tasks.map((t) => [t.sender, t.receivers]).sort(), [[0, [1]], [1, [0]]]);
  const stay = (await s.post("/v1/plans", problem({ to: { ...mesh(2, 4, [0, null, null]), first_host: 0 } }))).json;
  assert.equal(stay.predicted.makespan_seconds, 0);
  assert.deepEqual(stay.solution.tasks.map((t) => t.sender), [null, null]);
});

test("what cannot be is told with its member", async () => {
  const to = (more) => problem({ to: { ...mesh(2, 4, [0, null, null]), ...more } }), tasks = (more) => ({ ...TASKS, tasks: [{ ...TASKS.tasks[0], ...more }] });
  for (const [request, status, pointer] of [
    [to({ mesh: [1e6] }), 422, "/to/mesh/0"], [to({ mesh: [1000, 1000] }), 422, "/to/mesh"], [to({ mesh: Array(9).fill(1) }), 422, "/to/mesh"],
    [to({ mesh: [] }), 422, "/to/mesh"], [to({ mesh: ["2"] }), 400, "/to/mesh/0"], [to({ devices_per_host: 0 }), 422, "/to/devices_per_host"],
    [to({ first_host: 1e9 }), 422, "/to/first_host"], [to({ sharding: [0] }), 422, "/to/sharding"], [to({ sharding: [1e9, null, null] }), 422, "/to/sharding/0"],
    [to({ sharding: [2, null, null] }), 422, "/to/sharding"], [to({ sharding: [0, 0, null] }), 422, "/to/sharding"], [to({ sharding: ["0", null, null] }), 400, "/to/sharding/0"],
    [to({ sharding: undefined }), 400, "/to/sharding"], [problem({ nic: undefined }), 400, "/nic"], [problem({ nic: { bytes_per_second: 0 } }), 422, "/nic/bytes_per_second"],
    [problem({ nic: { bytes_per_second: 1, latency_seconds: -1 } }), 422, "/nic/latency_seconds"], [problem({ local: {} }), 400, "/local/bytes_per_second"],
    [problem({ tensor: { shape: [1e15, 1e15, 1e15], element_bytes: 2 } }), 422, "/tensor/shape"], [problem({ tensor: { shape: [0, 1, 1], element_bytes: 2 } }), 422, "/tensor/shape/0"],
    [problem({ tensor: { shape: Array(1000).fill(1), element_bytes: 2 } }), 422, "/tensor/shape"], [problem({ tensor: undefined }), 400, "/tensor"],
    [problem({ tensor: { shape: [4, 4, 4] } }), 400, "/tensor/element_bytes"], [problem({ chunks: 0 }), 422, "/chunks"], [problem({ transfer: "pigeon" }), 422, "/transfer"],
    [problem({ from: mesh(256, 1, [0, null, null]), to: mesh(256, 1, [null, 0, null]) }), 422, "/to/sharding"], [problem({ tasks: TASKS.tasks }), 400, "/tensor"],
    [problem({ method: "guess" }), 400, "/method"], [{ kind: "resharding", tasks: [] }, 422, "/tasks"], [tasks({ senders: [] }), 422, "/tasks/0/senders"],
    [tasks({ senders: [1, 1] }), 422, "/tasks/0/senders"], [tasks({ receivers: [1e9] }), 422, "/tasks/0/receivers/0"], [tasks({ receivers: undefined }), 400, "/tasks/0/receivers"],
    [tasks({ seconds: -1 }), 422, "/tasks/0/seconds"], [tasks({ bytes: 7 }), 400, "/tasks/0/seconds"], [tasks({ seconds: undefined }), 400, "/tasks/0/bytes"],
    [tasks({ seconds: undefined, bytes: 7 }), 400, "/nic"], [tasks({ colour: 1 }), 400, "/tasks/0/colour"],
  ]) {
    const { status: is, json } = await s.post("/v1/plans", request);
    assert.equal(is, status, JSON.stringify([request, json]));
    assert.equal(json.errors[0].pointer, pointer, JSON.stringify(json));
  }
});

test("large problems are answered in time, the same each time", async () => {
  const tasks = Array.from({ length: 8000 }, (_, i) => ({ seconds: 1 + i % 17, senders: [i % 31, 31 + i % 29], receivers: [60 + i % 23, 83 + i % 19] }));
  const answers = [];
  for (let i = 0; i < 2; i++) {
    const { code, stdout } = await run(["plan", "-"], { input: JSON.stringify({ kind: "resharding", tasks }) });
    assert.equal(code, 0);
    answers.push(JSON.parse(stdout));
  }
  assert.equal(new Set(answers[0].solution.tasks.map((t) => t.task)).size, tasks.length);
  assert.deepEqual(answers[0].solution, answers[1].solution);
  assert.equal(answers[0].quality.candidates, answers[1].quality.candidates);
  assert.ok(answers[0].quality.search_seconds < PATIENCE_MS / 1000);
});

// Hosts by the bits of their number: no two of them stand in for each other.
test("a piece that thousands of unlike hosts hold", async () => {
  const hosts = Array.from({ length: 9500 }, (_, h) => h);
  const tasks = Array.from({ length: 14 }, (_, i) => ({ seconds: 1 + i / 100, senders: hosts.filter((h) => (h >> i) & 1), receivers: [9500 + i % 3, 9503 + i % 5] }));
  tasks.push({ seconds: 2, senders: hosts, receivers: [9501, 9509] }, { seconds: 2.5, senders: hosts, receivers: [9502, 9509] });
  const { code, stdout } = await run(["plan", "-"], { input: JSON.stringify({ kind: "resharding", method: "depth-first", tasks }) });
  assert.equal(code, 0);
  assert.ok(JSON.parse(stdout).quality.search_seconds < PATIENCE_MS / 1000);
});

// 2^50 bytes to each of 2^16 devices
test("more bytes than an integer holds", async () => {
  const all = (n) => ({ mesh: [n], devices_per_host: 1, sharding: [null] });
  const { json } = await s.post("/v1/plans", problem({ tensor: { shape: [2 ** 44], element_bytes: 64 }, from: all(1), to: all(65536), transfer: "send-recv" }));
  near(json.predicted.network_bytes, 2 ** 66);
});
