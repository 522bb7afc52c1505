// Advice as something that can be done: settings for the hardware at hand, and plans that are filled in.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { GENERATE } from "../support/service.mjs";
import { tar } from "./inputs.mjs";
import { Service } from "./service.mjs";

const place = mkdtempSync(join(tmpdir(), "signalbox-advice-"));
let s;
before(async () => { s = await Service.start(); });
after(() => { s.stop(); rmSync(place, { recursive: true, force: true }); });

async function uploaded(dialect, ...options) {
  const path = join(place, `${dialect}${options.join("")}`);
  execFileSync(GENERATE, [dialect, ...options, path]);
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((f) => f.isFile()).map((f) => join(f.parentPath ?? f.path, f.name));
  const { id } = (await s.upload(dialect, tar(files.map((f) => [f.slice(path.length + 1), readFileSync(f)])))).json;
  return `/v1/profiles/${id}`;
}

async function advised(...options) {
  return (await s.get(`${await uploaded(...options)}/advice`)).json.items;
}

for (const [dialect, ...options] of [["kineto", "--events", "20000", "--ranks", "2", "--fault", "parallel.poor_overlap"],
  ["ascend", "--ranks", "2", "--fault", "communication.small_packets"]])
  test(`${dialect}: the gradients of the profile can be sent to the planner as they are`, async () => {
    const item = (await advised(dialect, ...options)).find((i) => i.plan?.kind === "gradient-fusion");
    assert.ok(item?.plan.problem, "no problem was filled in");
    const plan = await s.post("/v1/plans", item.plan.problem);
    assert.equal(plan.status, 201, JSON.stringify(plan.json));
    const bytes = (list) => list.reduce((sum, x) => sum + x.bytes, 0);
    assert.equal(bytes(plan.json.solution.segments), bytes(item.plan.problem.gradients));
    assert.ok(plan.json.quality.optimal);
  });

test("each action names its software, and only what runs on the hardware", async () => {
  const items = await advised("ascend", "--fault", "compute.aicpu");
  const item = items.find((i) => i.finding === "compute.aicpu");
  assert.ok(item.check && item.cost && item.portable === false && item.plan === null);
  for (const action of item.actions) {
    assert.ok(action.settings.length > 0);
    for (const x of action.settings) assert.ok(action.how.includes(x.how));
  }
  assert.ok(item.actions.some((a) => a.settings.some((x) => x.software === "torch_npu")));
  assert.ok(!JSON.stringify(items).includes("torch.cuda"));
});

test("two causes on a rank that is faster than the mean gain no more than its own step", async () => {
  const profile = await uploaded("ascend", "--ranks", "4", "--kernels", "60", "--fault", "communication.small_packets,communication.slow_link");
  const { rows } = (await s.get(`${profile}/breakdown?rank=1`)).json;
  const steps = rows.filter((r) => r.step !== null);
  const step = steps.reduce((sum, r) => sum + r.step_us, 0) / steps.length;
  const { findings } = (await s.get(`${profile}/analysis`)).json;
  const gains = findings.filter((f) => f.rank === 1 && f.estimated_gain.step_us > 0).map((f) => f.estimated_gain.step_us);
  assert.equal(gains.length, 2);
  const ns = (us) => Math.round(us * 1000);
  assert.ok(ns(gains[0]) + ns(gains[1]) <= ns(step), `${gains} of ${step}`);
});
