// Calibration and accuracy: what a profile shows of the hardware becomes constants of the cost model, and what a plan foretold is held against what a profile measured.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { kineto } from "./inputs.mjs";
import fs from "node:fs";
import path from "node:path";
import { run, Service, temporary } from "./service.mjs";

let s;
before(async () => { s = await Service.start(); });
after(() => s.stop());

const near = (a, b, within = 1e-9) => assert.ok(Math.abs(a - b) <= within * Math.abs(b), `${a} is not ${b}`);
// A device of 200 TFLOP/s, and links that the all-reduces below use to 80 % and 60 %.
const CLUSTER = { nodes: 2, devices_per_node: 4, device: { name: "mine", peak_flops: 200e12, memory_bytes: 80e9, memory_bandwidth: 2e12 },
  links: [{ scope: "node", bytes_per_second: 250e9 }, { scope: "cluster", bytes_per_second: 25e9 }] };

const event = (cat, name, pid, tid, ts, dur, args = {}) => ({ ph: "X", cat, name, pid, tid, ts, dur, args });

// Steps of so many us. In each, products of (n x 4096) x (4096 x 4096) that take 10 us + FLOP / 150 TFLOP/s, two us apart, and
// all-reduces of `bytes` among `ranks` at `rate` bytes a second of the bus behind 50 us.
function job(steps, { sizes = [1024, 2048, 8192], reduces = [] } = {}) {
  const events = [];
  let id = 0, from = 1000;
  for (const [i, us] of steps.entries()) {
    let at = from + 300;
    events.push(event("user_annotation", `ProfilerStep#${i}`, 1, 1, from, us));
    for (const [k, n] of sizes.entries()) {
      const dur = 10 + (2 * n * 4096 * 4096) / 150e6;
      id++;
      events.push(event("cpu_op", "aten::mm", 1, 1, from + 10 * k + 1, 8, { "Input type": ["c10::BFloat16", "c10::BFloat16"], "Input Dims": [[n, 4096], [4096, 4096]] }));
      events.push(event("cuda_runtime", "cudaLaunchKernel", 1, 1, from + 10 * k + 2, 2, { correlation: id }));
      events.push(event("kernel", "gemm", 0, 7, at, dur, { device: 0, stream: 7, correlation: id }));
      at += dur + 2;
    }
    for (const { ranks, bytes, rate } of reduces) {
      const n = ranks.length, dur = 50 + ((2 * (n - 1)) / n) * bytes / rate * 1e6;
      events.push(event("kernel", "ncclDevKernel_AllReduce_Sum", 0, 9, at, dur, { device: 0, stream: 9, "Collective name": "allreduce",
        "In msg nelems": bytes / 2, "Out msg nelems": bytes / 2, dtype: "BFloat16", "Group size": n, "Process Group Name": ranks.join(), "Process Group Ranks": JSON.stringify(ranks) }));
      at += dur + 2;
    }
    from += us + 100;
  }
  return Buffer.from(JSON.stringify({ schemaVersion: 1, deviceProperties: [{ id: 0, name: "Mine" }], distributedInfo: { rank: 0, world_size: 8, backend: "nccl" }, traceEvents: events }));
}

const INSIDE = [0, 1, 2, 3], ACROSS = [0, 4];
const REDUCES = [16e6, 64e6, 256e6].flatMap((bytes) => [{ ranks: INSIDE, bytes, rate: 200e9 }, { ranks: ACROSS, bytes, rate: 15e9 }]);

test("constants are those that the job was made by", async () => {
  const { json: profile } = await s.upload("made", job([90000, 90000, 90000], { reduces: REDUCES }));
  const { json: e } = await s.get(`/v1/profiles/${profile.id}/efficiency`);
  near(e.matrix_products.fit.flops_per_second, 150e12, 1e-3);
  near(e.matrix_products.fit.overhead_seconds, 10e-6, 1e-3);
  assert.equal(e.matrix_products.calls, 9);
  assert.deepEqual(e.collectives.map((c) => [c.type, c.ranks, c.span, c.calls]), [["all_reduce", 2, 4, 9], ["all_reduce", 4, 3, 9]]);
  assert.deepEqual([e.attention, e.element_wise, e.overlap], [null, null, null]);
  const made = await s.post("/v1/calibrations", { name: "lab", profiles: [profile.id], cluster: CLUSTER });
  assert.equal(made.status, 201, JSON.stringify(made.json));
  assert.equal(made.headers.location, "/v1/calibrations/lab");
  const k = made.json.constants;
  near(k.gemm_share, 0.75, 1e-3);
  near(k.gemm_half_flop, 1.5e9, 1e-3); // 10 us x 150 TFLOP/s
  near(k.node_share, 0.8, 1e-3);
  near(k.network_share, 0.6, 1e-3);
  assert.ok(Math.abs(k.launch_seconds - 2e-6) < 1e-8);
  assert.deepEqual(Object.keys(k).sort(), ["gemm_half_flop", "gemm_share", "launch_seconds", "network_share", "node_share"]);
  for (const row of made.json.measured) assert.ok(row.calls > 0 && (row.error === null || row.error < 0.01), JSON.stringify(row));
  assert.deepEqual((await s.get("/v1/calibrations/lab")).json.constants, k);
  assert.equal((await s.get("/v1/calibrations")).json.items.length, 1);
  // by its name a plan has them, and is another one than without
  const request = { kind: "estimate", model: "gpt3-175b", cluster: { ...CLUSTER, nodes: 128 }, batch: { global_sequences: 512 }, strategy: { dp: 4, tp: 4, pp: 32 } };
  const named = await s.post("/v1/plans", { ...request, calibration: "lab" });
  assert.equal(named.status, 201, JSON.stringify(named.json));
  const inline = await s.post("/v1/plans", { ...request, calibration: k });
  assert.deepEqual([inline.status, inline.json.id], [200, named.json.id]);
  assert.notEqual((await s.post("/v1/plans", request)).json.id, named.json.id);
  // measured once more under the name: the plan of before stays, a new one is made
  const other = (await s.upload("other", job([90000], { sizes: [512, 4096] }))).json;
  assert.equal((await s.post("/v1/calibrations", { name: "lab", profiles: [profile.id, other.id], cluster: CLUSTER })).status, 200);
});

test("which links a group of ranks tells of", async () => {
  const group = (n, stride, first = 0) => Array.from({ length: n }, (_, i) => first + i * stride);
  const shares = async (cluster, ...groups) => {
    const reduces = groups.flatMap(([ranks, rate, sizes = [16e6, 64e6, 256e6]]) => sizes.map((bytes) => ({ ranks, bytes, rate })));
    const { json: profile } = await s.upload("groups", job([90000], { reduces }));
    const { status, json } = await s.post("/v1/calibrations", { name: "groups", profiles: [profile.id], cluster: { ...CLUSTER, ...cluster } });
    assert.ok(status < 300, JSON.stringify(json));
    const { node_share = null, supernode_share = null, network_share = null } = json.constants;
    return [node_share, supernode_share, network_share].map((x) => x && Number(x.toFixed(4)));
  };
  // two nodes of four: a ring of all eight crosses on four links at once, of every second rank on two, which others may be on
  assert.deepEqual(await shares({}, [group(8, 1), 60e9]), [null, null, 0.6]);
  assert.deepEqual(await shares({}, [group(4, 2, 1), 40e9]), [null, null, null]);
  // not aligned to nodes, or with gaps: how many share a link is not known
  assert.deepEqual(await shares({}, [group(4, 1, 2), 15e9], [[0, 1, 4, 5], 15e9], [group(2, 3, 2), 15e9]), [null, null, null]);
  // 6 MB on the link of a ring of four are more start-up than transfer and tell no rate; 8 MB do
  assert.deepEqual(await shares({}, [group(4, 1), 200e9, [1e6, 4e6]], [group(2, 4), 15e9, [2e6, 8e6]]), [null, null, 0.6]);
  // four links of 25 GB/s are not the narrowest where the one inside the node has 50
  const narrow = { links: [{ scope: "node", bytes_per_second: 50e9 }, CLUSTER.links[1]] };
  assert.deepEqual(await shares(narrow, [group(8, 1), 40e9], [group(2, 4), 15e9]), [null, null, 0.6]);
  // supernodes of two nodes of two: across them four ranks share, inside one two
  const supernodes = { nodes: 4, devices_per_node: 2, links: [CLUSTER.links[0], { scope: "supernode", bytes_per_second: 100e9, devices: 4 }, CLUSTER.links[1]] };
  assert.deepEqual(await shares(supernodes, [group(8, 1), 60e9], [group(4, 1, 4), 140e9], [group(2, 1), 200e9]), [0.8, 0.7, 0.6]);
  // a full mesh of four, three links of 80 GB/s: two ranks have one of them, four have three, and both use 3/4 of what they have
  const mesh = { links: [{ scope: "node", bytes_per_second: 240e9, mesh_links: 3 }, CLUSTER.links[1]] };
  assert.deepEqual(await shares(mesh, [group(2, 1), 60e9]), [0.75, null, null]);
  assert.deepEqual(await shares(mesh, [group(4, 1), 180e9]), [0.75, null, null]);
});

test("what no device could do does not cost the profile", async () => {
  const side = Array(6).fill("9000000000000000000").join();
  const table = `Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats
0,MatMul,MatMul,AI_CORE,1000,10,0,1,"""${side};${side}""",FLOAT16;FLOAT16,ND;ND,"""${side}""",FLOAT16,ND\n`;
  const { json: profile } = await s.upload("kernel_details.csv", Buffer.from(table));
  assert.equal(profile.state, "ready", JSON.stringify(profile.error));
  assert.equal((await s.get(`/v1/profiles/${profile.id}/efficiency`)).json.matrix_products, null);
});

test("a profile that is not read yet is told so", async () => {
  const { json: plan } = await s.post("/v1/plans", { kind: "estimate", model: "llama3-8b", cluster: { ...CLUSTER, nodes: 8 }, batch: { global_sequences: 32 }, strategy: { dp: 8, tp: 4, zero: 1, recompute: "full" } });
  const { json: queued } = await s.request("POST", "/v1/profiles?name=late", { body: job(Array(2000).fill(1000)) });
  const calls = [["/v1/calibrations", { name: "late", profiles: [queued.id], cluster: CLUSTER }], [`/v1/plans/${plan.id}/profiles`, { profile: queued.id }]];
  for (const [target, body] of calls) {
    const a = await s.post(target, body);
    assert.ok(a.status === 409 ? a.json.code === "not_ready" && a.headers["retry-after"] === "1" : a.status < 300, JSON.stringify(a.json));
  }
  await s.settled(queued.id);
  for (const [target, body] of calls) assert.ok((await s.post(target, body)).status < 300);
  await s.request("DELETE", `/v1/profiles/${queued.id}`);
});

test("the command makes the same without a service, and what it prints can be stored", async () => {
  const dir = temporary(), trace = path.join(dir, "trace.json"), cluster = path.join(dir, "cluster.json");
  try {
    fs.writeFileSync(trace, job([90000], { reduces: REDUCES }));
    fs.writeFileSync(cluster, JSON.stringify(CLUSTER));
    const { code, stdout, stderr } = await run(["calibrate", "--cluster", cluster, trace]);
    assert.equal(code, 0, stderr);
    const { json: profile } = await s.upload("made", fs.readFileSync(trace));
    const made = await s.post("/v1/calibrations", { name: "served", profiles: [profile.id], cluster: CLUSTER });
    const printed = JSON.parse(stdout);
    // the service keeps 15 digits of what it measured
    assert.deepEqual(Object.keys(printed.constants), Object.keys(made.json.constants));
    for (const [name, value] of Object.entries(made.json.constants)) near(printed.constants[name], value, 1e-12);
    assert.deepEqual(printed.measured.map((m) => [m.constant, m.calls]), made.json.measured.map((m) => [m.constant, m.calls]));
    assert.deepEqual(printed.cluster, CLUSTER);
    const put = await s.request("PUT", "/v1/calibrations/printed", { headers: { "content-type": "application/json" }, body: stdout });
    assert.equal(put.status, 201, JSON.stringify(put.json));
    // by the name of a preset, and several captures
    const preset = await run(["calibrate", "--cluster", "dgx-h100", trace, trace]);
    assert.equal(preset.code, 0, preset.stderr);
    const twice = JSON.parse(preset.stdout).measured.find((m) => m.constant === "gemm_share");
    assert.equal(twice.calls, 6); // three products a capture
    near(twice.value, 150 / 989, 1e-3); // of the 989 TFLOP/s of an H100
    fs.writeFileSync(path.join(dir, "bad.json"), "{");
    fs.writeFileSync(path.join(dir, "bare.json"), kineto(1));
    for (const [args, status, what] of [[["dgx-h100"], 2, /usage/], [["no-such", trace], 1, /no-such/], [[path.join(dir, "bad.json"), trace], 1, /bad\.json/],
      [["dgx-h100", path.join(dir, "missing")], 1, /missing/], [["dgx-h100", path.join(dir, "bare.json")], 1, /record shapes/]]) {
      const a = await run(["calibrate", "--cluster", ...args]);
      assert.deepEqual([a.code, a.stdout], [status, ""], a.stderr);
      assert.match(a.stderr, what);
    }
    assert.equal((await run(["calibrate", trace])).code, 2);
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
});

test("a calibration that cannot be is refused with its member", async () => {
  const { json: profile } = await s.upload("made", job([90000], { reduces: REDUCES }));
  const { json: bare } = await s.upload("bare", kineto(1));
  const refused = async (more, status, pointer, code, why = /./) => {
    const a = await s.post("/v1/calibrations", { name: "x", profiles: [profile.id], cluster: CLUSTER, ...more });
    assert.deepEqual([a.status, a.json.errors?.[0].pointer, a.json.code], [status, pointer, code], JSON.stringify(a.json));
    assert.match(a.json.errors[0].detail, why);
  };
  await refused({ name: "../x" }, 422, "/name", "bad_name");
  await refused({ name: undefined }, 400, "/name", "missing_member");
  await refused({ profiles: [] }, 422, "/profiles", "out_of_range");
  await refused({ profiles: Array(65).fill(profile.id) }, 422, "/profiles", "out_of_range");
  await refused({ profiles: [profile.id, 7] }, 400, "/profiles/1", "wrong_type");
  await refused({ profiles: ["nothing"] }, 422, "/profiles/0", "unknown_profile");
  await refused({ profiles: [bare.id] }, 422, "/profiles", "nothing_measured");
  await refused({ cluster: "no-such" }, 400, "/cluster", "unknown_name");
  await refused({ cluster: { ...CLUSTER, device: { ...CLUSTER.device, peak_flops: 100e12 } } }, 422, "/profiles", "out_of_range", /gemm_share = .* between 0.001 and 1: are they of the cluster/);
  await refused({ more: 1 }, 400, "/more", "unknown_member");
  const put = await s.request("PUT", "/v1/calibrations/own", { headers: { "content-type": "application/json" }, body: JSON.stringify({ constants: { gemm_share: 0.5 } }) });
  assert.equal(put.status, 201);
  const wrong = await s.request("PUT", "/v1/calibrations/own", { headers: { "content-type": "application/json" }, body: JSON.stringify({ constants: { gemm_share: 1.5 } }) });
  assert.deepEqual([wrong.status, wrong.json.errors[0].pointer], [422, "/constants/gemm_share"]);
  const plan = await s.post("/v1/plans", { kind: "estimate", model: "gpt3-175b", cluster: CLUSTER, batch: { global_sequences: 8 }, strategy: {}, calibration: "none" });
  assert.deepEqual([plan.status, plan.json.errors[0].pointer], [400, "/calibration"]);
  assert.equal((await s.request("DELETE", "/v1/calibrations/own")).status, 204);
  assert.equal((await s.get("/v1/calibrations/own")).status, 404);
});

test("what plans foretold is held against what was measured", async () => {
  assert.deepEqual((await s.get("/v1/accuracy")).json, { summary: { count: 0, mean_error: null, median_error: null, worst_error: null, bias: null }, items: [], next_cursor: null });
  const { json: plan } = await s.post("/v1/plans", { kind: "estimate", model: "llama3-8b", cluster: { ...CLUSTER, nodes: 8 }, batch: { global_sequences: 32 }, strategy: { dp: 8, tp: 4, zero: 1, recompute: "full" } });
  const predicted = plan.predicted.step_seconds;
  // the median of three steps, and of two
  const first = (await s.upload("first", job([1000, 1200, 1100]))).json, second = (await s.upload("second", job([1000, 2000]))).json;
  for (const [profile, steps, seconds] of [[first, 3, 1100e-6], [second, 2, 1500e-6]]) {
    const { status, json: row } = await s.post(`/v1/plans/${plan.id}/profiles`, { profile: profile.id });
    assert.equal(status, 200, JSON.stringify(row));
    assert.deepEqual([row.plan, row.profile, row.steps, row.measured_bytes, row.memory_error], [plan.id, profile.id, steps, null, null]);
    near(row.measured_seconds, seconds);
    near(row.predicted_seconds, predicted, 1e-6);
    near(row.error, predicted / seconds - 1, 1e-6);
  }
  const errors = [predicted / 1100e-6 - 1, predicted / 1500e-6 - 1];
  const { json: all } = await s.get("/v1/accuracy?limit=1");
  near(all.summary.mean_error, (errors[0] + errors[1]) / 2, 1e-6);
  near(all.summary.median_error, (errors[0] + errors[1]) / 2, 1e-6);
  near(all.summary.worst_error, errors[0], 1e-6);
  assert.deepEqual([all.summary.count, all.items.length, all.items[0].profile], [2, 1, second.id]);
  const next = (await s.get(`/v1/accuracy?limit=1&cursor=${all.next_cursor}`)).json;
  assert.deepEqual([next.items[0].profile, next.next_cursor], [first.id, null]);
  assert.equal((await s.get("/v1/accuracy?cursor=a.name")).status, 400);
  assert.equal((await s.get(`/v1/plans/${plan.id}/profiles`)).json.items.length, 2);
  await s.request("DELETE", `/v1/profiles/${first.id}`);
  assert.equal((await s.get("/v1/accuracy")).json.summary.count, 1);
  // what has no step to compare
  const { json: schedule } = await s.post("/v1/plans", { kind: "schedule", schedule: "1f1b", stages: 2, micro_batches: 4, forward: 1, backward: 2 });
  assert.equal((await s.post(`/v1/plans/${schedule.id}/profiles`, { profile: second.id })).json.code, "no_prediction");
  const { json: bare } = await s.upload("bare", kineto());
  for (const [profile, status, code] of [[bare.id, 422, "no_steps"], ["nothing", 422, "unknown_profile"], [7, 400, "wrong_type"]]) {
    const a = await s.post(`/v1/plans/${plan.id}/profiles`, { profile });
    assert.deepEqual([a.status, a.json.code, a.json.errors[0].pointer], [status, code, "/profile"]);
  }
  assert.equal((await s.post("/v1/plans/nothing/profiles", { profile: second.id })).status, 404);
  assert.equal((await s.get("/v1/plans/nothing/profiles")).status, 404);
});
