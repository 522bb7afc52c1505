// Whatever ails a job, and however many causes at once: what the findings of a rank promise together is never more
// than its step, and what all promise together never more than the longest.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { GENERATE, PROGRAM } from "../support/service.mjs";
import { mean_step } from "../truth/step.mjs";

const call = promisify(execFile);
const place = mkdtempSync(join(tmpdir(), "signalbox-gains-"));
after(() => rmSync(place, { recursive: true, force: true }));

const SMALL = {
  kineto: ["kineto", "--units", "200", "--ranks", "4"], nsys: ["nsys", "--units", "200", "--ranks", "4"], signalbox: ["signalbox", "--units", "200", "--ranks", "4"],
  ascend: ["ascend", "--ranks", "3"], "ascend --db": ["ascend", "--db", "--ranks", "3"], mindspore: ["ascend", "--layout", "mindspore", "--ranks", "3"],
  msprof: ["msprof", "--ranks", "3"], cluster: ["cluster", "--ranks", "3"], mindinsight: ["mindinsight", "--steps", "10"],
};

// Each code of a dialect once with the one after it, and once with one far from it.
function pairs(codes) {
  const half = Math.ceil(codes.length / 2);
  return codes.flatMap((code, i) => [...(i % 2 === 0 && i + 1 < codes.length ? [[code, codes[i + 1]]] : []), ...(i + half < codes.length ? [[code, codes[i + half]]] : [])]);
}

const dialects = {};
for (const line of execFileSync(GENERATE, ["faults"], { encoding: "utf8" }).trim().split("\n")) {
  const [code, , ...able] = line.split("\t");
  for (const dialect of able) (dialects[dialect] ??= []).push(code);
}

for (const [dialect, codes] of Object.entries(dialects))
  test(`${dialect}: pairs of faults promise no more than the step`, async () => {
    assert.ok(codes.length >= 2);
    let made = 0;
    for (const faults of pairs(codes)) {
      const path = join(place, "job");
      // a job has one shape: no stages where there are experts
      if (!(await call(GENERATE, [...SMALL[dialect], "--fault", faults.join(","), path]).then(() => true, () => false))) continue;
      made++;
      const { stdout } = await call(PROGRAM, ["analyze", "--json", path], { maxBuffer: 1 << 28 });
      const { analysis, breakdown } = JSON.parse(stdout);
      rmSync(path, { recursive: true, force: true });
      const gain = (list) => list.reduce((total, f) => total + (f.estimated_gain?.step_us ?? 0), 0);
      const steps = new Map();
      for (const rank of new Set(breakdown.rows.map((r) => r.rank))) steps.set(rank, mean_step(breakdown.rows.filter((r) => r.rank === rank)));
      for (const [rank, step] of steps) {
        const sum = gain(analysis.findings.filter((f) => f.rank === rank));
        assert.ok(sum <= step, `${faults.join(",")}: rank ${rank}: ${sum} us of ${step}`);
      }
      assert.ok(gain(analysis.findings) <= Math.max(...steps.values()), `${faults.join(",")}: all ranks`);
    }
    assert.ok(made >= pairs(codes).length - 3);
  });

// Half of what the experts compute is padding (EfficientMoE): the gain is what the same job takes whose experts have
// room for what the router sends and no more.
test("padding of experts that have too much room, and what it costs", async () => {
  const job = ["ascend", "--ranks", "4", "--steps", "4", "--shape", "experts"];
  const play = async (padding) => {
    const path = join(place, `padding${padding}`);
    await call(GENERATE, [...job, "--padding", `${padding}`, "--truth", `${path}.truth`, path]);
    const { stdout } = await call(PROGRAM, ["analyze", "--json", path], { maxBuffer: 1 << 28 });
    const { mean_step_ns } = JSON.parse(readFileSync(`${path}.truth`, "utf8"));
    return { step_us: mean_step_ns / 1000, findings: JSON.parse(stdout).analysis.findings.filter((f) => f.code === "moe.imbalance" && f.severity !== "info") };
  };
  const [fit, usual, wide] = [await play(0), await play(25), await play(150)];
  assert.deepEqual([fit.findings, usual.findings], [[], []]);
  const share = wide.findings[0]?.evidence.find((e) => e.metric === "padding_share");
  // one row in 2.5 holds a token
  assert.ok(share && Math.abs(share.value - 0.6) < 1e-9, JSON.stringify(wide.findings));
  const gain = Math.max(...wide.findings.map((f) => f.estimated_gain?.step_us ?? 0)), true_gain = wide.step_us - fit.step_us;
  assert.ok(Math.abs(gain - true_gain) < 0.1 * true_gain, `${gain} for ${true_gain}`);
});
