// Whatever ails a job, and however many causes at once: what the findings of a rank promise together is never more
// than its step, and what all promise together never more than the longest.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
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
