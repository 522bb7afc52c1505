// Plans whose search is a job: waits, joining, canceling, failing, and what a restart leaves.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readFileSync } from "node:fs";
import { PATIENCE_MS, Service, sleep } from "./service.mjs";

const MODEL = { layers: 32, hidden: 4096, heads: 32, ffn_hidden: 11008, gated_ffn: true, vocab: 32000, seq_len: 4096 };
const CLUSTER = { nodes: 2, devices_per_node: 8, device: "a100-80g", links: [
  { scope: "node", bytes_per_second: 3e11 }, { scope: "cluster", bytes_per_second: 2.5e10 }] };
// Each number of sequences is another problem.
const quick = (sequences) => ({ kind: "strategy", model: MODEL, cluster: CLUSTER, batch: { global_sequences: sequences } });
// One device cannot hold it.
const infeasible = { kind: "strategy", model: { ...MODEL, hidden: 16384, heads: 128, ffn_hidden: 65536 },
  cluster: { ...CLUSTER, nodes: 1, devices_per_node: 1 }, batch: { global_sequences: 8 } };
// Seconds of work: many experts on many devices, for many numbers of them.
const slow = (sequences) => ({ kind: "scaling", model: "deepseek-v3", cluster: { preset: "dgx-h100", nodes: 2048 },
  batch: { global_sequences: sequences } });
const ASYNC = { headers: { Prefer: "respond-async" } };

let s; // answers with the job at once
before(async () => { s = await Service.start({ limits: { plan_wait_seconds: 0, plan_threads: 2 } }); });
after(() => s.stop());

async function settled(service, location) {
  for (const end = Date.now() + PATIENCE_MS; ;) {
    const { status, json } = await service.get(location);
    assert.equal(status, 200);
    if (!["queued", "running"].includes(json.state)) return json;
    if (Date.now() > end) throw new Error(`${location} is still ${json.state}`);
    await sleep(20);
  }
}

async function metric(service, name) {
  const text = (await service.get("/metrics")).body.toString();
  return Number(text.split("\n").find((line) => line.startsWith(`${name} `))?.slice(name.length + 1));
}

test("a plan that is quick is answered with itself", async (t) => {
  const usual = await Service.start({ t });
  const made = await usual.post("/v1/plans", quick(64));
  assert.equal(made.status, 201, String(made.body));
  assert.equal(made.headers.location, `/v1/plans/${made.json.id}`);
  assert.equal((await usual.get(made.headers.location)).status, 200);
  assert.equal((await usual.post("/v1/plans", { ...quick(64), color: "red" })).status, 400);
  const none = await usual.post("/v1/plans", infeasible);
  assert.equal(none.status, 422);
  assert.ok(none.json.least_memory_bytes > 0);
  assert.equal((await usual.get("/v1/version")).json.limits.plan_wait_seconds, 25);
  await usual.stop();
});

test("a search that takes longer than the wait is a job, which tells where the plan is", async () => {
  const sent = await s.post("/v1/plans", quick(128));
  assert.equal(sent.status, 202, String(sent.body));
  assert.match(sent.headers.location, /^\/v1\/jobs\//);
  assert.ok(sent.headers["retry-after"]);
  assert.equal(sent.json.kind, "plan");
  const job = await settled(s, sent.headers.location);
  assert.equal(job.state, "done");
  assert.equal(job.progress, 1);
  assert.equal(job.error, null);
  const plan = await s.get(job.result);
  assert.equal(plan.status, 200);
  assert.equal(plan.json.problem.batch.global_sequences, 128);
  const again = await s.post("/v1/plans", quick(128));
  assert.equal(again.status, 200);
  assert.equal(again.headers.location, job.result);
  assert.equal((await s.request("DELETE", sent.headers.location)).status, 409);
});

test("the plan of a job is the plan that a waiting client gets", async (t) => {
  const other = await Service.start({ t });
  const waited = (await other.post("/v1/plans", quick(256), { headers: { Prefer: "wait=25" } })).json;
  const job = await settled(s, (await s.post("/v1/plans", quick(256))).headers.location);
  const plan = (await s.get(job.result)).json;
  const bare = ({ id, created_at, quality: { search_seconds, ...quality }, ...rest }) => ({ ...rest, quality });
  assert.equal(JSON.stringify(bare(plan)), JSON.stringify(bare(waited)));
  await other.stop();
});

test("who says so waits longer, or not at all", async (t) => {
  const made = await s.post("/v1/plans", quick(512), { headers: { Prefer: "wait=25" } });
  assert.equal(made.status, 201);
  const slowly = await s.post("/v1/plans", slow(512), { headers: { Prefer: "wait=1" } });
  assert.ok([201, 202].includes(slowly.status));
  if (slowly.status === 202) await s.request("DELETE", slowly.headers.location);
  const usual = await Service.start({ t });
  assert.equal((await usual.post("/v1/plans", quick(512), ASYNC)).status, 202);
  await usual.stop();
});

test("a problem without an answer: the job holds the whole of it", async () => {
  const direct = await s.post("/v1/plans", infeasible, { headers: { Prefer: "wait=25" } });
  assert.equal(direct.status, 422);
  const sent = await s.post("/v1/plans", infeasible);
  assert.equal(sent.status, 202);
  const job = await settled(s, sent.headers.location);
  assert.equal(job.state, "failed");
  assert.equal(job.result, null);
  const { instance, request_id, ...problem } = direct.json;
  assert.deepEqual(job.error, problem);
  assert.ok(job.error.nearest);
  const wrong = await settled(s, (await s.post("/v1/plans", { ...quick(64), color: "red" })).headers.location);
  assert.equal(wrong.error.status, 400);
  assert.equal(wrong.error.errors[0].pointer, "/color");
});

test("what is no plan request is refused at once", async () => {
  assert.equal((await s.post("/v1/plans", { kind: "nothing" })).status, 400);
  assert.equal((await s.post("/v1/plans", { ...quick(64), method: "nothing" })).status, 400);
  assert.equal((await s.post("/v1/plans", { ...quick(64), model: "nobody" })).status, 400);
});

test("the same request joins the search that is under way, and one of those that wait has made it", async () => {
  const wait = { headers: { Prefer: "wait=25" } };
  const answers = await Promise.all([1, 2, 3, 4].map(() => s.post("/v1/plans", quick(1024), wait)));
  assert.deepEqual(answers.map((a) => a.status).sort(), [200, 200, 200, 201]);
  assert.equal(new Set(answers.map((a) => a.json.id)).size, 1);
});

test("a long search is joined, canceled, and not joined any more", async () => {
  const canceled = await metric(s, 'signalbox_plans_total{outcome="canceled"}');
  const first = await s.post("/v1/plans", slow(15360));
  assert.equal(first.status, 202);
  const joined = await s.post("/v1/plans", slow(15360));
  assert.equal(joined.headers.location, first.headers.location);
  const asked = await s.request("DELETE", first.headers.location);
  assert.equal(asked.status, 202);
  const next = await s.post("/v1/plans", slow(15360));
  assert.notEqual(next.headers.location, first.headers.location);
  await s.request("DELETE", next.headers.location);
  for (const { headers } of [first, next]) {
    const job = await settled(s, headers.location);
    assert.equal(job.state, "canceled");
    assert.equal(job.error.code, "canceled");
    assert.equal(job.result, null);
  }
  assert.equal(await metric(s, 'signalbox_plans_total{outcome="canceled"}') - canceled >= 1, true);
});

test("a search of several tells how far it is", async () => {
  const { headers } = await s.post("/v1/plans", slow(512));
  let job;
  for (const end = Date.now() + PATIENCE_MS; ;) {
    job = (await s.get(headers.location)).json;
    if (job.progress > 0) break;
    assert.ok(Date.now() < end, JSON.stringify(job));
    await sleep(10);
  }
  assert.equal(job.state, "running");
  assert.ok(job.progress < 1);
  await s.request("DELETE", headers.location);
  assert.equal((await settled(s, headers.location)).state, "canceled");
});

// Processor time that the service has taken so far, in milliseconds.
const worked = () => readFileSync(`/proc/${s.child.pid}/stat`, "utf8").split(") ")[1].split(" ").slice(11, 13)
  .reduce((sum, ticks) => sum + 10 * Number(ticks), 0);

// The largest of their kind: seconds of work each.
const spread = (i) => ((i * 7919) % 1000) / 1000;
const LONG = { layers: 4096, hidden: 12288, heads: 96, ffn_hidden: 49152, vocab: 51200, seq_len: 2048 };
const layers = Array.from({ length: 50 }, (_, i) => ({ count: 10, forward: 1 + spread(i), parameters_bytes: 1e9,
  activation_bytes: { none: 3e8 * (1 + spread(i)), select: 2e8, full: 3e7 } }));
const samples = { samples: [1, 4, 16, 64], forward: [30, 50, 150, 700], backward: [50, 110, 320, 1500] };
const graph = { nodes: Array.from({ length: 400 }, (_, i) => ({ options: Array.from({ length: 6 }, (_, k) => ({ seconds: spread(6 * i + k), memory_bytes: Math.round(1e9 * spread(i + 400 * k)) })) })),
  edges: Array.from({ length: 1500 }, (_, i) => ({ from: i % 394, to: (i % 394) + 1 + Math.floor(i / 394), seconds: Array.from({ length: 6 }, (_, a) => Array.from({ length: 6 }, (_, b) => spread(i + 6 * a + b))) })) };
const large = [
  { kind: "strategy", method: "amp", model: "gpt3-175b", cluster: { preset: "dgx-a100-80g", nodes: 128 }, batch: { global_sequences: 1536 },
    node_links: Array.from({ length: 128 }, (_, i) => ({ node: 1e11 * (0.2 + spread(i)), cluster: 1e10 * (0.1 + spread(i + 128)) })) },
  { kind: "strategy", method: "apss", model: LONG, cluster: { preset: "dgx-a100-80g", nodes: 4096 }, batch: { global_sequences: 55440 } },
  { kind: "strategy", method: "oases", model: { ...LONG, layers: 2048 }, cluster: { preset: "dgx-a100-80g", nodes: 1024 }, batch: { global_sequences: 1 << 20 } },
  { kind: "strategy", method: "mist", model: "gpt3-175b", cluster: { preset: "dgx-a100-80g", nodes: 128 }, batch: { global_sequences: 1536 } },
  { kind: "intra-operator", method: "taps", ...graph },
  { kind: "resharding", tasks: Array.from({ length: 10000 }, (_, i) => ({ seconds: spread(i), senders: [i % 64, 64 + (i % 61)], receivers: [128 + (i % 63)] })) },
  { kind: "schedule", schedule: "1f1b", stages: 512, micro_batches: 4000, forward: 1, backward: 2 },
  { kind: "pipeline", method: "best", stages: 64, micro_batches: 256, memory_bytes: 6e10, layers },
  { kind: "pipeline", method: "adapipe", stages: 64, micro_batches: 256, memory_bytes: 6e10, layers },
  { kind: "pipeline", method: "csimd", samples: 512, samples_max: 256, stages: 64, sizes: "free", layers: Array.from({ length: 1500 }, (_, i) => ({ time: { ...samples, forward: samples.forward.map((x) => x * (1 + spread(i))) } })) },
];

test("every kind of long search can be canceled, and ends soon after", async () => {
  const { model, cluster } = slow(0);
  const gpt = { model: "gpt3-175b", cluster: { preset: "dgx-a100-80g", nodes: 64 }, batch: { global_sequences: 1536 } };
  const kinds = [
    { kind: "strategy", model, cluster, batch: { global_sequences: 15360 } },
    { kind: "strategy", method: "folding", model, cluster, batch: { global_sequences: 15360 } },
    { kind: "strategy", method: "mist", ...gpt },
    { kind: "batch-schedule", model, cluster, batches: [1920, 3840, 7680, 15360], noise_scale: [5000] },
    { kind: "batch-schedule", method: "joint", model, cluster, batches: [1920, 3840, 7680, 15360], noise_scale: 5000 },
  ];
  for (const request of [...kinds, ...large]) {
    const sent = await s.post("/v1/plans", request);
    assert.equal(sent.status, 202, String(sent.body));
    const name = `${request.kind} ${request.method ?? ""}`;
    for (const end = Date.now() + PATIENCE_MS; (await s.get(sent.headers.location)).json.state === "queued" && Date.now() < end;) await sleep(5);
    const before = worked();
    assert.equal((await s.request("DELETE", sent.headers.location)).status, 202, name);
    const job = await settled(s, sent.headers.location);
    assert.equal(job.state, "canceled", name);
    // some tenths of a second of work here, and several times that under a sanitizer; the whole of it takes seconds
    assert.ok(worked() - before < 2500, `${name}: ${worked() - before} ms of work after it was canceled`);
    assert.equal(job.result, null);
  }
  assert.equal((await s.get("/v1/plans?limit=500")).json.items.some((plan) => plan.kind === "batch-schedule"), false);
});

test("who waits for a search that is canceled hears of it", async () => {
  const waiting = s.post("/v1/plans", slow(7680), { headers: { Prefer: "wait=25" } });
  await sleep(100);
  const { headers } = await s.post("/v1/plans", slow(7680));
  await s.request("DELETE", headers.location);
  const answer = await waiting;
  assert.equal(answer.status, 409);
  assert.equal(answer.json.code, "canceled");
});

test("the queue of searches is bounded", async (t) => {
  const narrow = await Service.start({ t, limits: { plan_threads: 1, plan_queue: 1, plan_wait_seconds: 0 } });
  const running = await narrow.post("/v1/plans", slow(3840));
  for (const end = Date.now() + PATIENCE_MS; (await narrow.get(running.headers.location)).json.state === "queued";) {
    assert.ok(Date.now() < end);
    await sleep(10);
  }
  const queued = await narrow.post("/v1/plans", slow(1920));
  assert.equal(queued.status, 202);
  const full = await narrow.post("/v1/plans", slow(960));
  assert.equal(full.status, 503);
  assert.equal(full.json.code, "busy");
  assert.ok(full.headers["retry-after"]);
  // who is canceled while he waits makes room for the next at once, though the only thread is busy
  const left = await narrow.request("DELETE", queued.headers.location);
  assert.equal(left.status, 202);
  assert.equal(left.json.state, "canceled");
  assert.equal(left.json.error.code, "canceled");
  const taken = await narrow.post("/v1/plans", slow(960));
  assert.equal(taken.status, 202, String(taken.body));
  assert.equal((await narrow.get(taken.headers.location)).json.state, "queued");
  assert.equal((await narrow.get(running.headers.location)).json.state, "running");
  // what is there already needs no search, and profiles have threads of their own
  assert.equal((await narrow.upload("empty", "{}", { headers: { Prefer: "wait=25" } })).status, 422);
  for (const { headers } of [running, taken]) await narrow.request("DELETE", headers.location);
  assert.equal((await settled(narrow, running.headers.location)).state, "canceled");
  await narrow.stop();
});

test("a key that saw a job sees the plan later, and stands for this request alone", async () => {
  const key = { headers: { "Idempotency-Key": "plan-1" } };
  const sent = await s.post("/v1/plans", quick(2048), key);
  assert.equal(sent.status, 202);
  const job = await settled(s, sent.headers.location);
  const again = await s.post("/v1/plans", quick(2048), key);
  assert.equal(again.status, 200);
  assert.equal(again.headers.location, job.result);
  assert.equal((await s.post("/v1/plans", quick(4096), key)).json.code, "idempotency_key_reused");
});

test("a restart loses what is under way, and nothing else", async () => {
  const before = await Service.start({ limits: { plan_wait_seconds: 0, stop_seconds: 1 } });
  const made = await settled(before, (await before.post("/v1/plans", quick(64))).headers.location);
  const lost = await before.post("/v1/plans", slow(15360));
  const waiting = before.post("/v1/plans", slow(15360), { headers: { Prefer: "wait=25" } });
  await sleep(200);
  const begun = Date.now();
  const ended = await before.signal("SIGTERM");
  assert.equal(ended.code, 0, before.stderr);
  assert.ok(Date.now() - begun < 20000, "a stop does not wait for a search");
  const answer = await waiting;
  assert.equal(answer.status, 503);
  assert.equal(answer.json.code, "stopping");
  const next = await Service.start({ dir: before.dir });
  assert.equal((await next.get(lost.headers.location)).status, 404);
  const job = await next.get(`/v1/jobs/${made.id}`);
  assert.equal(job.json.state, "done");
  assert.equal((await next.get(job.json.result)).status, 200);
  await next.stop();
  before.clean();
});
