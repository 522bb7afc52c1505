// The kind scaling: the lemmas from given seconds, a search for each number of devices, and what cannot be.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { errorsOf } from "./schema.mjs";
import { Service } from "./service.mjs";

let s, kind;
before(async () => {
  s = await Service.start();
  kind = (await s.get("/v1/plan-kinds")).json.items.find((k) => k.kind === "scaling");
});
after(() => s.stop());

const GIVEN = { kind: "scaling", compute_seconds: 1, overhead_seconds: 0.1 };
const ask = async (request) => {
  assert.deepEqual(errorsOf(kind.schema, kind.schema, request), [], JSON.stringify(request));
  const { status, json } = await s.post("/v1/plans", request);
  assert.ok(status < 300, JSON.stringify(json));
  return json;
};
const near = (a, b, error = 1e-9) => assert.ok(Math.abs(a - b) <= error, `${a} is not ${b}`);
const rowOf = (plan, devices) => plan.predicted.rows.find((r) => r.devices === devices);

// systems.md 3.19
test("the lemmas as the page has them", async () => {
  const tenth = await ask({ ...GIVEN, devices: 4 });
  near(tenth.predicted.efficiency, 0.7857, 5e-5);
  near(tenth.predicted.speedup, 3.143, 5e-4);
  near(tenth.predicted.limit_speedup, 11);
  const twentieth = await ask({ ...GIVEN, overhead_seconds: 0.05, devices: [8, 1, 16, 8], efficiency: 0.75 });
  assert.deepEqual(twentieth.predicted.rows.map((r) => r.devices), [1, 8, 16]);
  assert.deepEqual([twentieth.solution.devices, twentieth.predicted.most_devices], [8, 8]);
  near(twentieth.predicted.efficiency, 0.75);
  near(twentieth.predicted.speedup, 6);
  const servers = await ask({ ...GIVEN, parameter_servers: { parameters_bytes: 240e6, bytes_per_second: 1.25e9, workers: 4 } });
  near(servers.predicted.parameter_servers.exact, 1.536);
  assert.equal(servers.predicted.parameter_servers.servers, 2);
});

test("doublings, the knee, and what more and fewer devices cost", async () => {
  const plan = await ask(GIVEN);
  assert.deepEqual(plan.predicted.rows.map((r) => r.devices), Array.from({ length: 11 }, (_, i) => 2 ** i));
  // a half is kept up to 12 devices
  assert.deepEqual([plan.solution.devices, plan.predicted.most_devices, plan.predicted.wanted_efficiency], [8, 12, 0.5]);
  assert.deepEqual(plan.alternatives.map((a) => a.solution.devices), [1024, 1]);
  // 1024 devices: 1 + 102.4 device-seconds against 1 + 0.8; one device: 1.1 s against 1/8 + 0.1
  near(plan.alternatives[0].loses_by, 103.4 / 1.8 - 1);
  near(plan.alternatives[1].loses_by, 1.1 / 0.225 - 1);
  assert.equal(plan.frontier.length, 11); // each is faster, and dearer
  assert.equal((await ask({ ...GIVEN, overhead_seconds: 0 })).predicted.most_devices, null);
});

// backward ends at 1, 3, 4; all-reduces 1..5, 5..6, 6..8
test("what backward does not hide of the all-reduces is overhead", async () => {
  const gradients = [[1, 4], [2, 1], [1, 2]].map(([backward_seconds, all_reduce_seconds]) => ({ backward_seconds, all_reduce_seconds }));
  const plan = await ask({ kind: "scaling", compute_seconds: 6, gradients });
  assert.deepEqual(plan.predicted.overlap, { backward_seconds: 4, all_reduce_end_seconds: 8, exposed_seconds: 4, efficiency: 0.6 });
  near(plan.predicted.overhead_ratio, 4 / 6);
  near((await ask({ kind: "scaling", compute_seconds: 6, overhead_seconds: 2, gradients })).predicted.overhead_ratio, 1);
});

const refused = async (request, status, pointer) => {
  const { status: is, json } = await s.post("/v1/plans", request);
  assert.equal(is, status, JSON.stringify([request, json]).slice(0, 500));
  assert.equal(json.errors[0].pointer, pointer, JSON.stringify(json));
};

test("what cannot be is told with its member", async () => {
  const servers = { parameters_bytes: 1, bytes_per_second: 1, workers: 1 };
  for (const [more, status, pointer] of [
    [{ compute_seconds: 0 }, 422, "/compute_seconds"], [{ compute_seconds: -1 }, 422, "/compute_seconds"], [{ compute_seconds: "1" }, 400, "/compute_seconds"],
    [{ compute_seconds: undefined }, 400, "/compute_seconds"], [{ overhead_seconds: undefined }, 400, "/overhead_seconds"], [{ overhead_seconds: -1e-9 }, 422, "/overhead_seconds"],
    [{ devices: 0 }, 422, "/devices"], [{ devices: [] }, 422, "/devices"], [{ devices: [1, -4] }, 422, "/devices/1"], [{ devices: [1, 1.5] }, 400, "/devices/1"],
    [{ devices: "8" }, 400, "/devices"], [{ devices: Array(65).fill(1) }, 422, "/devices"], [{ devices: 1e9 }, 422, "/devices"],
    [{ efficiency: 0 }, 422, "/efficiency"], [{ efficiency: 1.01 }, 422, "/efficiency"], [{ gradients: {} }, 400, "/gradients"], [{ gradients: [] }, 422, "/gradients"],
    [{ gradients: [{ backward_seconds: 1 }] }, 400, "/gradients/0/all_reduce_seconds"], [{ gradients: [{ backward_seconds: -1, all_reduce_seconds: 1 }] }, 422, "/gradients/0/backward_seconds"],
    [{ gradients: Array(10001).fill({ backward_seconds: 1, all_reduce_seconds: 1 }) }, 422, "/gradients"], [{ colour: 1 }, 400, "/colour"], [{ method: "guess" }, 400, "/method"],
    [{ parameter_servers: {} }, 400, "/parameter_servers/parameters_bytes"], [{ parameter_servers: { ...servers, workers: 0 } }, 422, "/parameter_servers/workers"],
    [{ parameter_servers: { ...servers, bytes_per_second: 0 } }, 422, "/parameter_servers/bytes_per_second"],
  ]) await refused({ ...GIVEN, ...more }, status, pointer);
  for (const [text, pointer] of [[`"compute_seconds":1e999`, "/compute_seconds"], [`"compute_seconds":1,"overhead_seconds":1e999`, "/overhead_seconds"]]) {
    const { status, json } = await s.request("POST", "/v1/plans", { headers: { "content-type": "application/json" }, body: `{"kind":"scaling",${text}}` });
    assert.deepEqual([status, json.errors[0].pointer], [422, pointer], JSON.stringify(json));
  }
});

const MODEL = { layers: 32, hidden: 4096, heads: 32, ffn_hidden: 16384, vocab: 51200, seq_len: 2048 };
const CLUSTER = { nodes: 8, devices_per_node: 8, device: "a100-80g",
  links: [{ scope: "node", bytes_per_second: 300e9 }, { scope: "cluster", bytes_per_second: 25e9 }] };
const SEARCHED = { kind: "scaling", model: MODEL, cluster: CLUSTER, batch: { global_sequences: 64 } };

test("a search for each number of devices: the steps, the knee, and the lemma that comes nearest", async () => {
  const plan = await ask(SEARCHED), { rows, lemma } = plan.predicted;
  const skipped = plan.rejected.flatMap((r) => r.devices);
  assert.deepEqual([...skipped, ...rows.map((r) => r.devices)], [1, 2, 4, 8, 16, 32, 64]);
  assert.ok(skipped.includes(1)); // 6.7e9 parameters of 18 bytes are more than one device has
  const first = rows[0];
  rows.forEach((r, i) => {
    near(r.efficiency, first.step_seconds * first.devices / (r.step_seconds * r.devices));
    near(r.tokens_per_second, 64 * 2048 / r.step_seconds, 1e-6 * r.tokens_per_second);
    near(r.device_seconds_per_token, r.devices / r.tokens_per_second, 1e-15);
    assert.ok(i === 0 || r.step_seconds <= rows[i - 1].step_seconds, "more devices are never slower");
  });
  const knee = rows.findIndex((r) => r.efficiency < 0.5);
  assert.equal(plan.solution.devices, rows.at(knee < 0 ? -1 : knee - 1).devices);
  assert.ok(plan.solution.strategy.devices_used <= plan.solution.devices);
  // the lemma's own steps, and how far they are off
  lemma.rows.forEach((r, i) => {
    near(r.step_seconds, lemma.compute_seconds / r.devices + lemma.overhead_seconds, 1e-9 * r.step_seconds);
    assert.equal(r.devices, rows[i].devices);
  });
  near(lemma.mean_error, lemma.rows.reduce((sum, r, i) => sum + Math.abs(r.step_seconds / rows[i].step_seconds - 1), 0) / rows.length);
  for (const [i, f] of plan.frontier.entries()) {
    const next = plan.frontier[i + 1];
    assert.ok(!next || (f.seconds < next.seconds && f.device_seconds > next.device_seconds), "neither faster nor cheaper");
  }
});

test("the search of each number is that of the kind strategy", async () => {
  const plan = await ask({ ...SEARCHED, devices: [16, 8] });
  assert.deepEqual(plan.predicted.rows.map((r) => r.devices), [8, 16]);
  for (const nodes of [1, 2]) {
    const alone = await s.post("/v1/plans", { ...SEARCHED, kind: "strategy", cluster: { ...CLUSTER, nodes } });
    near(rowOf(plan, 8 * nodes).step_seconds, alone.json.predicted.step_seconds, 1e-12);
  }
  const strict = await ask({ ...SEARCHED, devices: [8, 16, 64], efficiency: 1 });
  assert.equal(strict.predicted.wanted_efficiency, 1);
  const narrow = await ask({ ...SEARCHED, devices: [8, 16], constraints: { tp: 8 } });
  assert.equal(narrow.solution.strategy.tp, 8);
});

test("what cannot be searched is told with its member", async () => {
  for (const [more, status, pointer] of [
    [{ devices: [8, 12] }, 422, "/devices"], [{ devices: 65 }, 422, "/devices"], [{ devices: [8, 128] }, 422, "/devices/1"], [{ compute_seconds: 1 }, 400, "/compute_seconds"],
    [{ model: undefined }, 400, "/model"], [{ cluster: undefined }, 400, "/cluster"], [{ batch: undefined }, 400, "/batch"], [{ batch: { global_sequences: 0 } }, 422, "/batch/global_sequences"],
    [{ model: { ...MODEL, layers: -1 } }, 422, "/model/layers"], [{ constraints: { tp: [] } }, 422, "/constraints/tp"], [{ objective: "time" }, 400, "/objective"],
  ]) await refused({ ...SEARCHED, ...more }, status, pointer);
  const { status, json } = await s.post("/v1/plans", { ...SEARCHED, devices: [1, 8], constraints: { memory_bytes: 1e9 } });
  assert.deepEqual([status, json.code], [422, "infeasible"]);
  assert.ok(json.least_memory_bytes > 1e9 && json.nearest.memory_bytes === json.least_memory_bytes);
});

test("a cluster with half of a host is told, as strategy does", async () => {
  const cluster = { nodes: 2, devices_per_node: 4, device: "a100-80g", host_memory_bytes: 1e12 };
  const model = { layers: 8, hidden: 1024, heads: 16, ffn_hidden: 4096, vocab: 32000, seq_len: 1024 };
  const codes = async (request) => (await s.post("/v1/plans", request)).json.warnings.map((w) => w.code);
  for (const request of [{ kind: "strategy", batch: { global_sequences: 16 } }, { kind: "scaling", batch: { global_sequences: 16 } },
    { kind: "batch-schedule", batches: [16, 32], noise_scale: 100 }, { kind: "batch-schedule", method: "joint", batches: [16, 32], noise_scale: 100 }]) {
    assert.ok((await codes({ ...request, model, cluster })).includes("offload_not_considered"), request.kind);
    assert.ok(!(await codes({ ...request, model, cluster: { ...cluster, host_link_bytes_per_second: 2e10 } })).includes("offload_not_considered"), request.kind);
  }
});
