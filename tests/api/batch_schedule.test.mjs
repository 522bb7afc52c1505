// The kind batch-schedule: its three methods by the pages' checks, by searches of the cost model, and what cannot be.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { errorsOf } from "./schema.mjs";
import { Service } from "./service.mjs";

let s, kind;
before(async () => {
  s = await Service.start();
  kind = (await s.get("/v1/plan-kinds")).json.items.find((k) => k.kind === "batch-schedule");
});
after(() => s.stop());

const near = (a, b, error = 1e-9) => assert.ok(Math.abs(a - b) <= error, `${a} is not ${b}`);
const ask = async (request) => {
  assert.deepEqual(errorsOf(kind.schema, kind.schema, JSON.parse(JSON.stringify(request))), [], JSON.stringify(request));
  const { status, json } = await s.post("/v1/plans", request);
  assert.ok(status < 300, JSON.stringify(json));
  for (const a of json.alternatives) assert.ok(a.loses_by >= 0 && a.reason, JSON.stringify(a));
  return json;
};
const refused = async (request, status, pointer) => {
  const { status: is, json } = await s.post("/v1/plans", request);
  assert.equal(is, status, JSON.stringify([request, json]).slice(0, 600));
  assert.equal(json.errors[0].pointer, pointer, JSON.stringify(json));
  return json;
};

// systems.md 3.7, check
const TABLE = [[256, 100, "p8"], [512, 125, "d2p4"], [1024, 140, "d4p2"], [2048, 150, "d8p1"]]
  .map(([batch, throughput, plan]) => ({ batch, throughput, plan }));
const COPUS = { kind: "batch-schedule", method: "copus", table: TABLE, noise_scale: 512 };
const goodputs = (plan) => plan.predicted.table.map((r) => r.goodput);

test("copus: goodputs and choices of the page", async () => {
  const plan = await ask(COPUS);
  goodputs(plan).forEach((g, i) => near(g, [100, 132.58, 140, 127.28][i], 5e-3));
  assert.deepEqual([plan.solution.batch, plan.solution.plan, plan.solution.learning_rate_factor], [1024, "d4p2", 2]);
  for (const [noise_scale, goodput] of [[2048, 238.65], [8192, 350.02]]) {
    const at = await ask({ ...COPUS, noise_scale });
    assert.equal(at.solution.batch, 2048);
    near(at.predicted.goodput, goodput, 5e-3);
  }
  const plain = await ask({ ...COPUS, learning_rate_rule: "none" });
  goodputs(plain).forEach((g, i) => near(g, [100, 93.75, 70, 45][i]));
  assert.deepEqual([plain.solution.batch, plain.solution.learning_rate_factor], [256, null]);
});

test("copus: a change needs 10 %, breaks even after its time, and must pay", async () => {
  const stays = await ask({ ...COPUS, current: { batch: 512 }, reconfiguration_seconds: 50 });
  assert.deepEqual([stays.solution.batch, stays.predicted.points[0].reason], [512, "below_threshold"]);
  near(stays.predicted.points[0].gain, 0.056, 5e-4);
  near(stays.predicted.points[0].break_even_seconds, 50 * 132.5825 / (140 - 132.5825), 0.01);
  assert.equal((await ask({ ...COPUS, current: { batch: 512 }, switch_threshold: 0.05 })).solution.batch, 1024);
  const series = { ...COPUS, noise_scale: [512, 2048, 8192], current: { batch: 512 }, reconfiguration_seconds: 50 };
  const run = await ask({ ...series, interval_seconds: 3600 });
  assert.deepEqual(run.solution.schedule.map((x) => [x.batch, x.first_point, x.last_point]), [[512, 0, 0], [2048, 1, 2]]);
  near(run.predicted.points[1].gain, 0.5); // 150 * 2304/4096 * sqrt 8 against 125 * 2304/2560 * sqrt 2
  near(run.predicted.points[1].break_even_seconds, 100);
  const short = await ask({ ...series, interval_seconds: [3600, 50, 48] });
  assert.deepEqual(short.predicted.points.map((p) => p.reason), ["below_threshold", "not_paid_back", "not_paid_back"]);
});

test("copus: intervals of the noise, where the best changes both are as good", async () => {
  const { intervals } = (await ask(COPUS)).solution;
  assert.deepEqual(intervals.map((i) => i.batch), [256, 512, 1024, 2048]);
  assert.deepEqual([intervals[0].noise_from, intervals.at(-1).noise_to], [0, null]);
  for (let i = 1; i < 4; i++) {
    assert.equal(intervals[i].noise_from, intervals[i - 1].noise_to);
    const there = goodputs(await ask({ ...COPUS, noise_scale: intervals[i].noise_from }));
    near(there[i], there[i - 1], 1e-9 * there[i]);
    assert.ok(there.every((g) => g <= there[i] * (1 + 1e-12)));
  }
});

// |G|^2 = 4, tr(S) = 600: |g|^2 = 4 + 600 / batch
test("the noise from two gradient norms", async () => {
  const pair = { small_batch: 10, large_batch: 100, small_norm: 8, large_norm: Math.sqrt(10) };
  const plan = await ask({ ...COPUS, noise_scale: undefined, gradient_norms: [pair, { ...pair, large_norm: 9 }], smoothing: 0 });
  near(plan.predicted.noise_scale, 150);
  assert.deepEqual(plan.predicted.points.map((p) => p.reason), ["start", "noise_unknown"]);
  assert.ok(plan.warnings.some((w) => w.code === "noise_unknown"));
  await refused({ ...COPUS, noise_scale: undefined, gradient_norms: [{ ...pair, large_norm: 9 }] }, 422, "/gradient_norms");
});

// capabilities.md 11
const IMAGES = { kind: "batch-schedule", method: "variable-batch", samples: 1281167, devices: 1024, samples_per_second: 400, exposed_seconds: 0.024 };
test("variable-batch: steps and seconds of the page", async () => {
  const flat = await ask({ ...IMAGES, stages: [{ epochs: 90, batch: 8192 }] });
  assert.equal(flat.predicted.iterations, 14076);
  near(flat.predicted.seconds, 619.3, 0.05);
  const grown = await ask({ ...IMAGES, stages: [8192, 32768, 122880].map((batch) => ({ epochs: 30, batch })) });
  assert.equal(grown.predicted.iterations, 6178);
  near(grown.predicted.seconds, 429.8, 0.05);
  near(grown.predicted.speedup, 619.314 / 429.766, 1e-4);
  assert.deepEqual(grown.alternatives[0].predicted.iterations, 14076);
});

test("variable-batch: the tuner doubles up to the noise, and the learning rate follows", async () => {
  const plan = await ask({ ...IMAGES, batch: 256, max_batch: 5000, learning_rate: 0.1, linear_batch: 1024, epochs: [1, 2, 3, 4, 5, 6], noise_scale: [100, 300, 1100, 700, 600, 1e9] });
  assert.deepEqual(plan.solution.stages.map((x) => [x.epochs, x.batch]), [[3, 256], [12, 1024], [6, 4096]]);
  plan.solution.stages.forEach((x, i) => near(x.learning_rate, [0.1, 0.4, 0.8][i]));
  // five epochs of warm-up behind a change
  assert.deepEqual(plan.solution.stages.map((x) => x.warmup_iterations), [0, Math.ceil(5 * 1281167 / 1024), Math.ceil(5 * 1281167 / 4096)]);
});

const JOINT = { kind: "batch-schedule", method: "joint", fixed_seconds: 0.1, seconds_per_sample: 0.5e-6, noise_scale: 2e6 };
test("joint: the best batch of the page", async () => {
  const plan = await ask({ ...JOINT, least_steps: 1000 });
  assert.equal(plan.solution.batch, 632456);
  near(plan.predicted.seconds_per_least_step, 1.7325, 5e-5);
  near(plan.predicted.half.seconds_per_least_step, 1.8906, 5e-5);
  near(plan.predicted.double.seconds_per_least_step, 1.8906, 5e-5);
  near(plan.predicted.seconds, 1732.5, 0.05);
  // no other batch is better, limits or not: at a batch of 4, (1 + 2e6 / 4) (.1 + 2e-6)
  assert.deepEqual([plan.quality.optimal, plan.quality.lower_bound], [true, plan.predicted.seconds_per_least_step]);
  const small = await ask({ ...JOINT, max_batch: 4 });
  near(small.quality.lower_bound, 500001 * 0.100002, 1e-6);
  assert.equal(small.quality.gap, 0);
  // a whole multiple, within the limits
  assert.equal((await ask({ ...JOINT, multiple: 100000 })).solution.batch, 600000);
  assert.equal((await ask({ ...JOINT, max_batch: 500500, multiple: 1000 })).solution.batch, 500000);
  // less of a step fixed against quicker samples: (sqrt 2 + .1)^2 = 2.2928, (sqrt .72 + sqrt .2)^2 = 1.6789
  const step = (f, c, name) => ({ fixed_seconds: f, seconds_per_sample: c, plan: name });
  const two = await ask({ kind: "batch-schedule", method: "joint", noise_scale: 2e6, plans: [step(0.01, 1e-6, "data"), step(0.2, 0.36e-6, "pipeline")] });
  assert.deepEqual([two.solution.plan, two.alternatives[0].solution.plan], ["pipeline", "data"]);
  near(two.predicted.seconds_per_least_step, 1.6789, 5e-5);
  near(two.alternatives[0].predicted.seconds_per_least_step, 2.2928, 5e-5);
});

const MODEL = { layers: 32, hidden: 4096, heads: 32, ffn_hidden: 16384, vocab: 51200, seq_len: 2048 };
const CLUSTER = { nodes: 2, devices_per_node: 8, device: "a100-80g",
  links: [{ scope: "node", bytes_per_second: 300e9 }, { scope: "cluster", bytes_per_second: 25e9 }] };
const SEARCHED = { kind: "batch-schedule", model: MODEL, cluster: CLUSTER, batches: [64, 16, 256, 16], noise_scale: 300 };

test("copus with a model: the throughput of each batch is that of the kind strategy", async () => {
  const plan = await ask(SEARCHED);
  assert.deepEqual(plan.predicted.table.map((r) => r.batch), [16, 64, 256]);
  for (const row of plan.predicted.table) {
    const alone = await s.post("/v1/plans", { kind: "strategy", model: MODEL, cluster: CLUSTER, batch: { global_sequences: row.batch } });
    near(row.throughput, row.batch / alone.json.predicted.step_seconds, 1e-9 * row.throughput);
    near(row.goodput, row.throughput * 316 / (300 + row.batch) * Math.sqrt(row.batch / 16), 1e-9 * row.goodput);
  }
  assert.ok(plan.solution.strategy.micro_batches >= 1);
  assert.ok(goodputs(plan).every((g) => g <= plan.predicted.goodput));
});

test("joint with a model: the batch fits the plan, and its step is that of the kind estimate", async () => {
  const plan = await ask({ ...SEARCHED, method: "joint" }), { solution, predicted } = plan;
  assert.equal(solution.batch % solution.multiple, 0);
  assert.equal(solution.multiple % (solution.strategy.dp * solution.strategy.micro_batch), 0);
  const own = await s.post("/v1/plans", { kind: "estimate", model: MODEL, cluster: CLUSTER, strategy: solution.strategy, batch: { global_sequences: solution.batch } });
  near(own.json.predicted.step_seconds, predicted.step_seconds, 1e-9);
  assert.equal(own.json.predicted.fits, true);
  near(predicted.seconds_per_least_step, (1 + 300 / solution.batch) * predicted.step_seconds, 1e-9);
  for (const a of plan.alternatives) assert.ok(a.predicted.seconds_per_least_step >= predicted.seconds_per_least_step);
});

test("what cannot be is told with its member", async () => {
  const row = { batch: 1, throughput: 1 }, pair = { small_batch: 1, large_batch: 2, small_norm: 1, large_norm: 1 };
  for (const [more, status, pointer] of [
    [{ table: [] }, 422, "/table"], [{ table: {} }, 400, "/table"], [{ table: [{ batch: 1 }] }, 400, "/table/0/throughput"], [{ table: [{ ...row, throughput: 0 }] }, 422, "/table/0/throughput"],
    [{ table: [{ ...row, batch: -5 }] }, 422, "/table/0/batch"], [{ table: Array(1001).fill(row) }, 422, "/table"], [{ table: [{ ...row, plan: 4 }] }, 400, "/table/0/plan"],
    [{ noise_scale: -1 }, 422, "/noise_scale"], [{ noise_scale: [1, -1] }, 422, "/noise_scale/1"], [{ noise_scale: [] }, 422, "/noise_scale"], [{ noise_scale: "1" }, 400, "/noise_scale"],
    [{ noise_scale: undefined }, 400, "/noise_scale"], [{ noise_scale: Array(4097).fill(1) }, 422, "/noise_scale"], [{ gradient_norms: [pair] }, 422, "/gradient_norms"],
    [{ noise_scale: undefined, gradient_norms: [{ ...pair, large_batch: 1 }] }, 422, "/gradient_norms/0/large_batch"], [{ noise_scale: undefined, gradient_norms: [pair], smoothing: 1 }, 422, "/smoothing"],
    [{ reference_batch: 0 }, 422, "/reference_batch"], [{ learning_rate_rule: "cosine" }, 422, "/learning_rate_rule"], [{ switch_threshold: -0.1 }, 422, "/switch_threshold"],
    [{ reconfiguration_seconds: -1 }, 422, "/reconfiguration_seconds"], [{ interval_seconds: [1, 2] }, 422, "/interval_seconds"], [{ current: { batch: 300 } }, 422, "/current"],
    [{ current: { batch: 512, plan: "p8" } }, 422, "/current"], [{ model: MODEL }, 400, "/model"], [{ samples: 1 }, 400, "/samples"], [{ method: "guess" }, 400, "/method"],
  ]) await refused({ ...COPUS, ...more }, status, pointer);
  for (const [more, status, pointer] of [
    [{ batches: undefined }, 400, "/batches"], [{ batches: [] }, 422, "/batches"], [{ batches: [16, 0] }, 422, "/batches/1"], [{ batches: Array(65).fill(8) }, 422, "/batches"],
    [{ model: undefined }, 400, "/model"], [{ cluster: undefined }, 400, "/cluster"], [{ constraints: { memory_bytes: 1e9 } }, 422, "/batches"], [{ table: TABLE }, 400, "/model"],
    [{ current: { batch: 17 } }, 422, "/current"], [{ batch: { global_sequences: 1 } }, 400, "/batch"],
  ]) {
    await refused({ ...SEARCHED, ...more }, status, pointer);
    if (!("table" in more || "current" in more)) await refused({ ...SEARCHED, method: "joint", ...more, ...("model" in more && { batches: SEARCHED.batches }) }, status, pointer);
  }
  const stage = { epochs: 1, batch: 1 };
  for (const [more, status, pointer] of [
    [{}, 400, "/batch"], [{ stages: [] }, 422, "/stages"], [{ stages: [{ ...stage, batch: 0 }] }, 422, "/stages/0/batch"], [{ stages: [{ ...stage, epochs: 0 }] }, 422, "/stages/0/epochs"],
    [{ stages: [stage], noise_scale: 1 }, 400, "/noise_scale"], [{ stages: [stage], samples: 0 }, 422, "/samples"], [{ stages: [stage], samples_per_second: 0 }, 422, "/samples_per_second"],
    [{ batch: 8, epochs: 1 }, 400, "/noise_scale"], [{ batch: 8, noise_scale: 1 }, 400, "/epochs"], [{ batch: 8, noise_scale: [1, 2], epochs: [1] }, 422, "/epochs"],
    [{ batch: 8, max_batch: 4, noise_scale: 1, epochs: 1 }, 422, "/max_batch"], [{ stages: Array(4097).fill(stage) }, 422, "/stages"],
  ]) await refused({ ...IMAGES, ...more }, status, pointer);
  for (const [more, status, pointer] of [
    [{ fixed_seconds: -1 }, 422, "/fixed_seconds"], [{ fixed_seconds: undefined }, 400, "/fixed_seconds"], [{ seconds_per_sample: 0 }, 422, "/seconds_per_sample"],
    [{ plans: [] }, 422, "/plans"], [{ plans: [{}] }, 400, "/fixed_seconds"], [{ multiple: 8, max_batch: 7 }, 422, "/max_batch"], [{ min_batch: 9, max_batch: 8 }, 422, "/max_batch"],
    [{ model: MODEL }, 400, "/fixed_seconds"], [{ cluster: CLUSTER }, 400, "/cluster"], [{ least_steps: 0 }, 422, "/least_steps"], [{ table: TABLE }, 400, "/table"],
  ]) await refused({ ...JOINT, ...more }, status, pointer);
  const { status, json } = await s.request("POST", "/v1/plans", { headers: { "content-type": "application/json" },
    body: `{"kind":"batch-schedule","table":[{"batch":1,"throughput":1e999}],"noise_scale":1}` });
  assert.deepEqual([status, json.errors[0].pointer], [422, "/table/0/throughput"], JSON.stringify(json));
});
