// GET /v1/comparisons: a job and its cure, made by the generator with other numbers of steps and other names.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { GENERATE } from "../support/service.mjs";
import { kineto } from "./inputs.mjs";
import { Service } from "./service.mjs";

let s, slow, cured;
const UNKNOWN = "00000000-0000-7000-8000-000000000000";
const compare = (base, target, more = "") => s.get(`/v1/comparisons?base=${base}&target=${target}${more}`);

async function made(name, ...options) {
  const path = join(s.dir, `${name}.json`);
  execFileSync(GENERATE, ["kineto", ...options, path]);
  return (await s.upload(name, readFileSync(path))).json.id;
}

before(async () => {
  s = await Service.start();
  slow = await made("slow", "--events", "9000", "--steps", "3", "--fault", "io.loading=70", "--name", "<b>first</b>");
  cured = await made("cured", "--events", "15000", "--steps", "5", "--name", "<b>other</b>");
});
after(() => s.stop());

const rows = async (id) => (await s.get(`/v1/profiles/${id}/breakdown`)).json.rows;
const near = (a, b, what) => assert.ok(Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b)), `${what}: ${a} is not ${b}`);

test("the sentence names what changed", async () => {
  const { status, json: c } = await compare(slow, cured);
  assert.equal(status, 200);
  assert.deepEqual([c.base.id, c.target.id, c.base.name, c.target.name], [slow, cured, "slow", "cured"]);
  assert.deepEqual([c.base.steps, c.target.steps], [3, 5]);
  assert.match(c.verdict.sentence, /^The target's step is [\d.]+x shorter \(.+ to .+\): data loading went from .+ to .+ a step\./);
  assert.match(c.verdict.sentence, /Gone: io\./);
  assert.ok(c.verdict.speedup > 1);
  const { base, target } = c.breakdown.mean.data_loading_us;
  assert.ok(base > 10 * target, `${base} and ${target}`);
  assert.ok(c.findings.some((f) => f.code.startsWith("io.") && f.label === "gone" && f.target === null));
});

test("times are a step's: those of the breakdown over its steps", async () => {
  const { json: c } = await compare(slow, cured);
  for (const [side, id] of [["base", slow], ["target", cured]]) {
    const all = await rows(id), steps = all.filter((r) => r.step !== null), whole = all.find((r) => r.step === null);
    // the host of the cured job runs ahead: its windows are shorter than the device's steps
    near(c.breakdown.mean.step_us[side], Math.max(whole.span_us, steps.reduce((sum, r) => sum + r.step_us, 0)) / steps.length, "step");
    near(c.breakdown.mean.compute_us[side], whole.compute_us / steps.length, "compute");
    near(c.breakdown.mean.free_us[side], whole.free_us / steps.length, "free");
  }
  assert.equal(c.breakdown.ranks_total, c.breakdown.ranks.length);
  for (const row of [c.breakdown.mean, ...c.breakdown.ranks])
    for (const [member, v] of Object.entries(row))
      if (v?.difference !== undefined && v.difference !== null) near(v.difference, v.target - v.base, member);
});

test("operators come by the size of their difference, and add up", async () => {
  const { json: c } = await compare(slow, cured, "&limit=10000");
  const sizes = c.operators.rows.map((r) => Math.abs(r.difference_us));
  assert.deepEqual(sizes, [...sizes].sort((a, b) => b - a));
  assert.equal(c.operators.rows.length, c.operators.total);
  for (const [side, id] of [["base", slow], ["target", cured]]) {
    const listed = (await s.get(`/v1/profiles/${id}/operators`)).json.rows;
    const sum = c.operators.rows.reduce((total, r) => total + (r[side]?.total_us ?? 0), 0);
    const wanted = listed.reduce((total, r) => total + r.total_us, 0) / c[side].steps;
    assert.ok(Math.abs(sum - wanted) <= 1e-3 * c.operators.total + 1e-6 * wanted, `${sum} is not ${wanted}`);
  }
  assert.equal((await compare(slow, cured, "&limit=1")).json.operators.rows.length, 1);
});

test("a profile is equal to itself, and swapping swaps", async () => {
  const { json: same } = await compare(slow, slow);
  assert.match(same.verdict.sentence, /same time/);
  assert.equal(same.verdict.speedup, 1);
  assert.ok(same.operators.rows.every((r) => r.label === "equal" && r.difference_us === 0));
  assert.ok(same.findings.every((f) => f.label === "stays"));
  const [there, back] = [(await compare(slow, cured)).json, (await compare(cured, slow)).json];
  near(there.breakdown.mean.step_us.difference, -back.breakdown.mean.step_us.difference, "step");
  assert.match(back.verdict.sentence, /x longer/);
});

test("what is missing or wrong is told", async () => {
  for (const query of ["", `?base=${slow}`, `?target=${slow}`, `?base=${slow}&target=`, `?base=${slow}&target=${cured}&colour=1`,
    `?base=${slow}&target=${cured}&limit=0`])
    assert.equal((await s.get(`/v1/comparisons${query}`)).status, 400, query);
  assert.equal((await compare(slow, UNKNOWN)).status, 404);
  assert.equal((await compare("nonsense", slow)).status, 404);
  const failed = await s.upload("broken", Buffer.from("no profile"));
  assert.equal(failed.status, 422);
});

test("a profile that is still being read", async () => {
  const path = join(s.dir, "large.json");
  execFileSync(GENERATE, ["kineto", "--events", "400000", path]);
  const queued = await s.upload("large", readFileSync(path), { headers: { Prefer: "respond-async" } });
  const early = await compare(slow, queued.json.id);
  assert.ok([200, 409].includes(early.status), `${early.status}`);
  if (early.status === 409) assert.ok(early.headers["retry-after"]);
  await s.settled(queued.json.id);
  assert.equal((await compare(slow, queued.json.id)).status, 200);
});

test("profiles without steps or devices can be asked about", async () => {
  const { id } = (await s.upload("no steps", kineto(20))).json;
  const { json: c } = await compare(id, id);
  assert.equal(c.base.steps, null);
  assert.ok(c.warnings.some((w) => w.code === "no_steps"));
  near(c.breakdown.mean.compute_us.base, 200, "compute");
  const host = Buffer.from(JSON.stringify({ schemaVersion: 1, traceEvents: [
    { ph: "X", cat: "cpu_op", name: "aten::add", pid: 1, tid: 1, ts: 10, dur: 5 }] }));
  const cpu = (await s.upload("cpu only", host)).json.id;
  const only = await compare(cpu, id);
  assert.equal(only.status, 200);
  assert.match(only.json.verdict.sentence, /cannot be compared/);
});
