// The strategy method mist: its plan adds up, keeps to what is asked, and says by whose model it is predicted.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { errorsOf } from "./schema.mjs";
import { PATIENCE_MS, Service } from "./service.mjs";

let s, schema;
before(async () => {
  s = await Service.start();
  schema = (await s.get("/v1/plan-kinds")).json.items.find((k) => k.kind === "strategy")?.schema;
});
after(() => s.stop());

// GPT 13B on two nodes of eight L4 (systems 3.2)
const PROBLEM = { kind: "strategy", method: "mist", model: { layers: 40, hidden: 5120, heads: 40, ffn_hidden: 20480, vocab: 50304, seq_len: 2048 },
  cluster: { nodes: 2, devices_per_node: 8, device: "l4-24g", links: [{ scope: "node", bytes_per_second: 32e9 }, { scope: "cluster", bytes_per_second: 3e9 }] },
  batch: { global_sequences: 256 }, constraints: { attention: "flash" } };
const SMALL = { ...PROBLEM, model: { ...PROBLEM.model, layers: 8, hidden: 1024, heads: 16, ffn_hidden: 4096 } };
const codes = (plan) => plan.warnings.map((w) => w.code);

async function solve(base, more) {
  const request = { ...base, ...more };
  const { status, json } = await s.post("/v1/plans", request);
  assert.ok(status === 201 || status === 200, JSON.stringify(json));
  assert.deepEqual(errorsOf(schema, schema, request), []);
  return json;
}

// search-algorithms section 9: (m - 1) x the largest + the sum + the largest tail
function check(plan, devices, sequences, layers) {
  const { stages } = plan.predicted.mist, m = plan.solution.micro_batches;
  let sum = 0, largest = 0, tail = -Infinity, next = 0;
  for (const x of stages) {
    assert.equal(x.first_layer, next);
    assert.equal(x.dp * x.tp * stages.length, devices);
    assert.equal(x.dp * x.micro_batch * m, sequences);
    assert.ok([1, 2, 4].includes(x.micro_batch) && x.checkpointed_layers <= x.layers);
    assert.ok(Math.abs(x.layers - layers / stages.length) <= 2);
    assert.ok(!(x.offload.weights > 0 && x.offload.gradients === 0));
    tail = Math.max(tail, x.delta_seconds - sum);
    largest = Math.max(largest, x.stable_seconds);
    sum += x.stable_seconds;
    next += x.layers;
  }
  assert.equal(next, layers);
  const seconds = (m - 1) * largest + sum + tail;
  assert.ok(Math.abs(seconds - plan.quality.value) <= 1e-9 * seconds);
  assert.equal(plan.quality.objective, "mist_seconds");
  assert.equal(plan.quality.optimal, true);
  assert.equal(plan.predicted.mist.step_seconds, plan.quality.value);
  assert.equal(plan.predicted.mist.memory_bytes, Math.max(...stages.map((x) => x.memory_bytes)));
  assert.equal(codes(plan).includes("does_not_fit"), !plan.predicted.fits);
  // other plans: slower, and each told by the same two models
  let last = plan.quality.value;
  assert.ok(plan.alternatives.length > 0);
  for (const a of plan.alternatives) {
    assert.ok(a.value >= last && a.value === a.predicted.mist.step_seconds && a.predicted.step_seconds > 0 && a.reason);
    assert.ok(Math.abs(a.loses_by - (a.value / plan.quality.value - 1)) < 1e-12);
    last = a.value;
  }
  assert.deepEqual([plan.frontier[0].seconds, plan.frontier[0].bytes], [plan.quality.value, plan.predicted.mist.memory_bytes]);
  for (let i = 1; i < plan.frontier.length; i++) {
    assert.ok(plan.frontier[i].bytes < plan.frontier[i - 1].bytes && plan.frontier[i].seconds >= plan.frontier[i - 1].seconds);
    assert.ok(plan.frontier[i].solution.stages.length === plan.frontier[i].solution.pp);
  }
}

test("stages of their own: predicted stage by stage, and told", async () => {
  const plan = await solve(PROBLEM, {});
  check(plan, 16, 256, 40);
  assert.ok(codes(plan).includes("stages_differ") && codes(plan).includes("host_unknown") && !codes(plan).includes("links_modelled"));
  for (const x of plan.predicted.mist.stages) assert.ok(x.memory_bytes <= 0.95 * 24e9 + 1);
  assert.equal(plan.predicted.memory_bytes, Math.max(...plan.predicted.stages.map((x) => x.memory_bytes)));
  // the two models of seconds are near each other: the layers' times are the same
  assert.ok(Math.abs(plan.predicted.step_seconds / plan.quality.value - 1) < 0.1);
  const { status, json } = await s.get(`/v1/plans/${plan.id}/export?format=megatron`);
  assert.deepEqual([status, json.code, json.errors[0].pointer], [422, "stages_differ", "/solution"]);
  const kept = await solve(PROBLEM, { offload: false });
  check(kept, 16, 256, 40);
  for (const x of kept.predicted.mist.stages) assert.deepEqual(Object.values(x.offload), [0, 0, 0, 0]);
  assert.ok(kept.quality.value >= plan.quality.value);
  // stages that only recompute differently are a strategy of ours: predicted by it, near what Mist's model says
  const { stages } = kept.predicted.mist;
  assert.ok(stages.every((x) => x.dp === kept.solution.dp && x.tp === kept.solution.tp) && !codes(kept).includes("stages_differ"));
  assert.deepEqual(kept.solution.stages.map((x) => x.recompute_layers), stages.map((x) => x.checkpointed_layers));
  assert.ok(Math.abs(kept.predicted.step_seconds / kept.quality.value - 1) < 0.1);
  const { json: estimate } = await s.post("/v1/plans", { ...PROBLEM, kind: "estimate", method: undefined, constraints: undefined, strategy: kept.solution });
  assert.ok(Math.abs(estimate.predicted.step_seconds / kept.predicted.step_seconds - 1) <= 1e-9);
});

// Less memory than the leanest plan with all on the devices: something goes to the host
test("shares on the host that are the same for all stages are a strategy of ours, where the cluster tells of its hosts", async () => {
  const cluster = { ...PROBLEM.cluster, host_memory_bytes: 1e12, host_link_bytes_per_second: 6e9 };
  const constraints = { attention: "flash", pp: 1 };
  const { json } = await s.post("/v1/plans", { ...PROBLEM, constraints: { ...constraints, memory_bytes: 1e8 }, offload: false });
  constraints.memory_bytes = json.least_memory_bytes - 1e8;
  const plan = await solve(PROBLEM, { cluster, constraints });
  assert.ok(!codes(plan).includes("stages_differ") && !codes(plan).includes("host_unknown"));
  assert.notEqual(plan.solution.offload, "none");
  const { json: estimate } = await s.post("/v1/plans", { ...PROBLEM, cluster, kind: "estimate", method: undefined, constraints: undefined, strategy: plan.solution });
  for (const part of ["step_seconds", "memory_bytes", "host_memory_bytes"])
    assert.ok(Math.abs(estimate.predicted[part] / plan.predicted[part] - 1) <= 1e-9);
});

test("a plan that estimate can say is predicted by it", async () => {
  const plan = await solve(SMALL, {});
  check(plan, 16, 256, 8);
  assert.ok(!codes(plan).includes("stages_differ") && plan.explanation.stages.length > 0);
  const { json: estimate } = await s.post("/v1/plans", { ...SMALL, kind: "estimate", method: undefined, constraints: undefined, strategy: plan.solution });
  assert.ok(Math.abs(estimate.predicted.step_seconds - plan.predicted.step_seconds) <= 1e-9 * plan.predicted.step_seconds);
  const { json: exact } = await s.post("/v1/plans", { ...SMALL, method: "exact", constraints: { attention: "flash", gradient_dtype: "bf16" } });
  assert.ok(exact.predicted.step_seconds <= plan.predicted.step_seconds * (1 + 1e-9));
});

test("constraints are kept, and other devices follow our links", async () => {
  const plan = await solve(SMALL, { constraints: { attention: "flash", pp: 2, tp: 2, micro_batch: [1, 2], zero: 1 }, host_bytes_per_second: 20e9,
    cluster: { ...PROBLEM.cluster, device: "h100-80g" } });
  check(plan, 16, 256, 8);
  assert.equal(plan.predicted.mist.stages.length, 2);
  for (const x of plan.predicted.mist.stages) assert.ok(x.tp === 2 && x.micro_batch <= 2 && x.zero === 1);
  assert.ok(codes(plan).includes("links_modelled"));
});

test("what cannot be is told with its member", async () => {
  for (const [more, status, pointer] of [
    [{ offload: "yes" }, 400, "/offload"], [{ host_bytes_per_second: 0 }, 422, "/host_bytes_per_second"], [{ layer_seconds: { 1: 1 } }, 400, "/layer_seconds"],
    [{ constraints: { cp: 2 } }, 422, "/constraints/cp"], [{ constraints: { recompute: "full" } }, 422, "/constraints/recompute"],
    [{ constraints: { sequence_parallel: true } }, 422, "/constraints/sequence_parallel"], [{ model: { ...SMALL.model, moe: { experts: 8, top_k: 2, ffn_hidden: 1024 } } }, 422, "/model/moe"],
    [{ constraints: { overlap: ["tensor"] } }, 422, "/constraints/overlap"], [{ constraints: { tp: 3 } }, 422, ""], [{ constraints: { zero: 0 } }, 422, ""],
  ]) {
    const { status: is, json } = await s.post("/v1/plans", { ...SMALL, ...more });
    assert.equal(is, status, JSON.stringify([more, json]));
    if (pointer) assert.equal(json.errors[0].pointer, pointer);
  }
  const { status, json } = await s.post("/v1/plans", { ...PROBLEM, constraints: { memory_bytes: 1e8 } });
  assert.equal(status, 422);
  assert.equal(json.code, "infeasible");
  assert.ok(json.least_memory_bytes > 1e8 && json.nearest.memory_bytes === json.least_memory_bytes);
  const just = await solve(PROBLEM, { limit: 0, constraints: { memory_bytes: json.least_memory_bytes } });
  assert.equal(just.predicted.mist.memory_bytes, json.least_memory_bytes);
  assert.equal((await s.post("/v1/plans", { ...PROBLEM, constraints: { memory_bytes: json.least_memory_bytes - 1 } })).status, 422);
});

test("a large request ends", async () => {
  const cluster = { nodes: 128, devices_per_node: 8, device: "a100-80g", links: [{ scope: "node", bytes_per_second: 3e11 }, { scope: "cluster", bytes_per_second: 2.5e10 }] };
  const model = { layers: 96, hidden: 12288, heads: 96, ffn_hidden: 49152, vocab: 50304, seq_len: 2048 };
  const started = Date.now();
  await solve(PROBLEM, { model, cluster, batch: { global_sequences: 1536 } });
  assert.ok(Date.now() - started < 3 * PATIENCE_MS);
});
