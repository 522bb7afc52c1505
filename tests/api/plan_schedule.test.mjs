// What a planned pipeline runs when: the answer holds together by itself, with the plan, and within its bounds.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { run, Service } from "./service.mjs";

let s;
before(async () => { s = await Service.start(); });
after(() => s.stop());

const PROBLEM = { kind: "schedule", schedule: "1f1b", stages: 4, micro_batches: 8, forward: 1, backward: 2 };
const planned = async (more) => (await s.post("/v1/plans", { ...PROBLEM, ...more })).json;
const drawn = async (plan, query = "") => (await s.get(`/v1/plans/${plan.id}/schedule${query}`)).json;
const near = (a, b, what) => assert.ok(Math.abs(a - b) <= 1e-9 * (1 + Math.abs(b)), `${what}: ${a} is not ${b}`);

// The operations of a device as objects; a pair does two things at once.
function operationsOf(device) {
  const { works, operations: o } = device;
  return o.work.map((w, i) => ({ kind: works.kind[w], stage: works.stage[w], slice: works.slice?.[w] ?? 0, start: o.start[i],
    end: o.start[i] + works.length[w], length: works.length[w], mb: o.micro_batch[i],
    other: works.kind[w] === "pair" ? { stage: works.other_stage[w], mb: o.other_micro_batch[i] } : null }));
}
const halves = (o) => (o.kind !== "pair" ? [o] : [{ ...o, kind: "forward" }, { ...o, ...o.other, kind: "backward" }]);

// Who waits for whom: forward for the stage before and the slice before, backward for its forward and the stage and slice behind.
function checkOrder(all, { send = 0, stages, slices }) {
  const key = (kind, stage, mb, slice) => `${kind} ${stage} ${mb} ${slice}`;
  const done = new Map();
  for (const o of all) {
    const kind = o.kind === "backward_input" ? "backward" : o.kind;
    assert.ok(!done.has(key(kind, o.stage, o.mb, o.slice)), `${kind} of ${o.mb} on ${o.stage} twice`);
    done.set(key(kind, o.stage, o.mb, o.slice), o);
  }
  for (const o of all) {
    const needs = [];
    if (o.kind === "forward") {
      if (o.stage > 0) needs.push(key("forward", o.stage - 1, o.mb, o.slice));
      if (o.slice > 0) needs.push(key("forward", o.stage, o.mb, o.slice - 1));
    } else if (o.kind === "weight") {
      needs.push(key("backward", o.stage, o.mb, o.slice));
    } else if (o.kind === "recompute") {
      needs.push(key("forward", o.stage, o.mb, o.slice));
    } else {
      needs.push(key("forward", o.stage, o.mb, o.slice));
      if (o.stage + 1 < stages) needs.push(key("backward", o.stage + 1, o.mb, o.slice));
      if (o.slice + 1 < slices) needs.push(key("backward", o.stage, o.mb, o.slice + 1));
    }
    for (const name of needs) {
      const before = done.get(name);
      assert.ok(before, `${name} is missing`);
      const hop = before.device === o.device ? 0 : send;
      assert.ok(o.start >= before.end + hop - 1e-9, `${o.kind} ${o.stage} ${o.mb} starts at ${o.start}, ${name} ends at ${before.end}`);
    }
  }
}

test("every schedule: work adds up, nothing overlaps, who waits has waited, the memory's peak is the plan's", async () => {
  const { items } = (await s.get("/v1/plan-kinds")).json;
  const names = items.find((k) => k.kind === "schedule").schema.properties.schedule.enum;
  for (const schedule of names) {
    const chunks = /interleaved/.test(schedule) ? 2 : undefined, slices = /seq|tera/.test(schedule) ? 3 : undefined;
    const plan = await planned({ schedule, chunks, slices, forward: [1, 1.25, 0.7, 1.1], backward: [2.1, 2, 2.7, 3], send_seconds: 0.125 });
    const answer = await drawn(plan);
    assert.equal(answer.schedule, schedule);
    assert.equal(answer.truncated, false);
    assert.equal(answer.device_count, 4);
    const stages = new Set(answer.devices.flatMap((d) => d.stages)).size;
    const all = [];
    let count = 0, last = 0;
    answer.devices.forEach((device, d) => {
      const list = operationsOf(device);
      count += list.length;
      near(list.reduce((sum, o) => sum + o.length, 0), device.busy, `${schedule} busy`);
      near(device.bubble, plan.predicted.bubble_makespan[d], `${schedule} bubble`);
      near(list.at(-1).end, device.end, `${schedule} end`);
      last = Math.max(last, device.end);
      for (let i = 1; i < list.length; i++) assert.ok(list[i].start >= list[i - 1].end - 1e-9, `${schedule}: ${d} does two things at ${list[i].start}`);
      assert.equal(device.peak, plan.predicted.peak[d], schedule);
      assert.equal(Math.max(...device.memory.held), plan.predicted.peak[d], schedule);
      assert.equal(device.memory.held.at(-1), 0, schedule);
      for (let i = 1; i < device.memory.time.length; i++) assert.ok(device.memory.time[i] >= device.memory.time[i - 1]);
      for (const o of list) {
        assert.ok(device.stages.includes(o.stage));
        all.push(...halves(o).map((half) => ({ ...half, device: d })));
      }
    });
    near(last, plan.predicted.makespan, schedule);
    near(answer.makespan, plan.predicted.makespan, schedule);
    assert.equal(count, answer.operation_count);
    for (const kind of ["forward", "backward"])
      assert.equal(all.filter((o) => o.kind === kind || o.kind === `${kind}_input`).length, stages * 8 * (slices ?? 1), `${schedule} ${kind}`);
    checkOrder(all, { send: 0.125, stages, slices: slices ?? 1 });
  }
});

// 1F1B p4 m8: a forward each at 0, 1, 2, 3; the backward of the first comes back at 4 + 3 * 2 = 10 (schedules.md, example 2: 33)
// Backward is 2, a layer that recomputes all takes half of that again, 1, and keeps 1 byte instead of 4. Beside 2 layers of 10 bytes
// 40 bytes leave 20 for at most four micro-batches on the first stage: one layer at least recomputes.
test("a cut pipeline: bytes, bounds, and what is recomputed", async () => {
  const problem = { kind: "pipeline", stages: 4, micro_batches: 8, memory_bytes: 40, constant_bytes: 0,
    layers: [{ name: "<b>", count: 8, forward: 1, parameters_bytes: 10, activation_bytes: { none: 4, full: 1 } }] };
  const { items } = (await s.get("/v1/plan-kinds")).json;
  for (const schedule of items.find((k) => k.kind === "pipeline").schema.anyOf[0].properties.schedule.enum) {
    const more = { schedule, ...(/interleaved/.test(schedule) ? { interleave: 2 } : {}), ...(/seq|tera/.test(schedule) ? { slices: 2 } : {}) };
    const { status, json: plan } = await s.post("/v1/plans", { ...problem, ...more, memory_bytes: /gpipe|tera/.test(schedule) ? 60 : /dualpipe$/.test(schedule) ? 100 : 48 });
    assert.equal(status, 201, `${schedule}: ${JSON.stringify(plan)}`);
    const answer = await drawn(plan);
    near(answer.makespan, plan.predicted.makespan, schedule);
    assert.equal(answer.memory_unit, "bytes");
    answer.devices.forEach((device, d) => {
      near(device.peak, plan.predicted.memory_bytes[d], schedule);
      near(Math.max(...device.memory.held), device.peak, schedule);
      assert.equal(device.cap, plan.problem.memory_bytes);
      const list = operationsOf(device);
      near(list.reduce((sum, o) => sum + o.length, 0), device.busy, schedule);
      assert.equal(device.works.recompute.length, device.works.kind.length);
    });
  }
  const plan = (await s.post("/v1/plans", problem)).json;
  const answer = await drawn(plan);
  answer.devices.forEach((device, d) => {
    assert.deepEqual(device.works.recompute, [0, plan.solution.recompute.full[0][d]]);
    assert.deepEqual(device.works.length, [plan.solution.layers[0][d], 2 * plan.solution.layers[0][d] + plan.solution.recompute.full[0][d]]);
    assert.equal(device.memory.held.at(-1), 10 * plan.solution.layers[0][d]);
    assert.equal(device.cap, 40);
  });
  assert.ok(answer.devices[0].works.recompute[1] >= 1);
  const free = await drawn((await s.post("/v1/plans", { ...problem, memory_bytes: undefined })).json);
  assert.deepEqual(free.devices.map((d) => d.cap), [null, null, null, null]);
  assert.deepEqual(free.devices.map((d) => d.peak), [52, 44, 36, 28]);
  // without sizes: micro-batches in flight, 4 - s on stage s
  const unsized = await drawn((await s.post("/v1/plans", { ...problem, memory_bytes: undefined, layers: [{ count: 8, forward: 1 }] })).json);
  assert.equal(unsized.memory_unit, "units");
  assert.deepEqual(unsized.devices.map((d) => [d.peak, d.cap]), [[4, null], [3, null], [2, null], [1, null]]);
});

// csimd: stages and links in a line, each with one micro-batch at a time; backward goes the line and the micro-batches back once
// forward has ended (oracles c_csimd.json, "pipeline"). Here by that recurrence, from the request and the solution alone.
test("a division of samples: micro-batches of unequal sizes, links that are busy, slices", async () => {
  const layers = [{ count: 5, time: { samples: [1, 4, 16], forward: [3, 6, 21], backward: [5, 13, 40] } }];
  const at = (b, y) => (b < 4 ? y[0] + ((y[1] - y[0]) * (b - 1)) / 3 : y[1] + ((y[2] - y[1]) * (b - 4)) / 12);
  for (const more of [{ samples: 23, samples_max: 12 }, { samples: 23, micro_batches: 5 }, { samples: 23, micro_batches: 4, send_seconds: { alpha: 9, beta: [7, 7, 7, 7] } }]) {
    const { status, json: plan } = await s.post("/v1/plans", { kind: "pipeline", method: "csimd", stages: 3, layers, ...more });
    assert.equal(status, 201, JSON.stringify(plan));
    const answer = await drawn(plan);
    const { micro_batch_sizes: sizes, layers: [cut] } = plan.solution;
    assert.deepEqual([answer.schedule, answer.micro_batches, answer.slices], ["gpipe", sizes.length, 1]);
    near(answer.makespan, plan.predicted.makespan, "makespan");
    const { forward, backward } = layers[0].time;
    const machines = (b, y) => cut.flatMap((n, i) => [n * at(b, y), ...(i < 2 ? [more.send_seconds ? 9 + 7 * b : 0] : [])]);
    const free = [0, 0, 0, 0, 0];
    const expected = [[], [], []];
    const pass = (order, y, line, from) => order.map((mb) => line.reduce((there, m) => {
      const start = Math.max(there, free[m]);
      if (m % 2 === 0) expected[m / 2].push([mb, start]);
      return (free[m] = start + machines(sizes[mb], y)[m]);
    }, from)).at(-1);
    const order = sizes.map((_, i) => i);
    const ended = pass(order, forward, [0, 1, 2, 3, 4], 0);
    pass([...order].reverse(), backward, [4, 3, 2, 1, 0], ended);
    answer.devices.forEach((device, d) => {
      const list = operationsOf(device);
      assert.deepEqual(list.map((o) => o.mb), expected[d].map(([mb]) => mb));
      list.forEach((o, i) => near(o.start, expected[d][i][1], `operation ${i} of ${d}`));
      list.forEach((o) => near(o.length, cut[d] * at(sizes[o.mb], o.kind === "forward" ? forward : backward), "length"));
      near(device.busy, list.reduce((sum, o) => sum + o.length, 0), "busy");
      assert.equal(device.peak, sizes.length);
    });
  }
  const sliced = (await s.post("/v1/plans", { kind: "pipeline", method: "csimd", schedule: "terapipe", samples: 16, stages: 4, micro_batches: 3,
    layers: [{ count: 8, time: { form: "attention", coefficients: { a: 1, k: 1, q: 0.1 } } }] })).json;
  const answer = await drawn(sliced);
  assert.deepEqual([answer.schedule, answer.micro_batches, answer.slices], ["terapipe", 3, sliced.solution.slices.length]);
  near(answer.makespan, sliced.predicted.makespan, "of slices");
});

test("a view has what touches it, of the devices that were asked for", async () => {
  const plan = await planned({});
  const part = await drawn(plan, "?from=3.5&to=12&devices=0-1");
  assert.deepEqual(part.devices.map((d) => d.device), [0, 1]);
  assert.deepEqual([part.from, part.to, part.makespan], [3.5, 12, 33]);
  assert.deepEqual(part.devices[0].operations.start, [3, 10, 12]);
  assert.deepEqual(part.devices[0].memory, { time: [3.5], held: [4] });
  assert.deepEqual((await drawn(plan, "?devices=3")).devices.map((d) => d.stages), [[3]]);
  const again = await s.get(`/v1/plans/${plan.id}/schedule`);
  const kept = await s.get(`/v1/plans/${plan.id}/schedule`, { headers: { "If-None-Match": again.headers.etag } });
  assert.equal(kept.status, 304);
});

test("what cannot be shown is told with its parameter, and what has no schedule by a word", async () => {
  const plan = await planned({});
  for (const [query, name] of [["from=-1", "from"], ["from=x", "from"], ["from=nan", "from"], ["to=1e999", "to"], ["from=5&to=4", "to"],
    ["from=34", "from"], ["devices=4", "devices"], ["devices=2-1", "devices"], ["devices=-1", "devices"], ["devices=0-", "devices"],
    ["devices=99999999999999999999", "devices"], ["devices=", "devices"], ["device=1", "device"]]) {
    const { status, json } = await s.get(`/v1/plans/${plan.id}/schedule?${query}`);
    assert.equal(status, 400, query);
    assert.match(JSON.stringify(json), new RegExp(`"/query/${name}"`), query);
  }
  const none = await s.get("/v1/plans/01234567890123456789012345/schedule");
  assert.equal(none.status, 404);
  const other = (await s.post("/v1/plans", { kind: "gradient-fusion", gradients: [{ bytes: 10, backward_seconds: 1 }],
    cost: { latency_seconds: 1, bytes_per_second: 10 } })).json;
  const refused = await s.get(`/v1/plans/${other.id}/schedule`);
  assert.deepEqual([refused.status, refused.json.code], [404, "no_schedule"]);
});

// 64 devices, 4096 micro-batches: 524,288 operations
test("a schedule of many operations is answered in parts that join", async () => {
  const plan = await planned({ stages: 64, micro_batches: 4096 });
  let from = 0, starts = 0, seen = new Set(), answer;
  do {
    answer = await drawn(plan, `?from=${from}`);
    const listed = answer.devices.reduce((sum, d) => sum + d.operations.start.length, 0);
    assert.ok(listed <= 200000, `${listed} operations`);
    for (const d of answer.devices) for (const start of d.operations.start) seen.add(d.device * 1e9 + start);
    assert.ok(answer.to > from);
    from = answer.to;
  } while (answer.truncated);
  assert.equal(answer.operation_count, 64 * 4096 * 2);
  assert.equal(seen.size, answer.operation_count, "none is left out");
  const wide = await planned({ stages: 2000, micro_batches: 1 });
  const cut = await drawn(wide);
  assert.deepEqual([cut.devices.length, cut.device_count, cut.truncated], [1024, 2000, true]);
  assert.deepEqual((await drawn(wide, "?devices=1990-1999")).devices.map((d) => d.device), [...Array(10).keys()].map((i) => 1990 + i));
});

test("the command prints the same", async () => {
  const plan = await planned({ schedule: "zb-v" });
  const { code, stdout } = await run(["plan", "-", "--schedule"], { input: JSON.stringify({ ...PROBLEM, schedule: "zb-v" }) });
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(stdout), await drawn(plan));
  assert.equal((await run(["plan", "-", "--schedule", "--export", "env"], { input: "{}" })).code, 2);
  const none = await run(["plan", "-", "--schedule"], { input: JSON.stringify({ kind: "gradient-fusion",
    gradients: [{ bytes: 10, backward_seconds: 1 }], cost: { latency_seconds: 1, bytes_per_second: 10 } }) });
  assert.equal(none.code, 1);
  assert.match(none.stderr, /no schedule/);
});
