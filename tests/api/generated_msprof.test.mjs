// One made-up job as three tools write it down: the PyTorch profiler, msprof, and a cluster analysis. All must tell the
// same, to the nanosecond, and what the generator's own books say.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { GENERATE, PROGRAM } from "../support/service.mjs";

const place = mkdtempSync(join(tmpdir(), "signalbox-msprof-"));
after(() => rmSync(place, { recursive: true, force: true }));
let made = 0;

function make(format, ...options) {
  const path = join(place, `job${made++}`);
  execFileSync(GENERATE, [format, ...options, "--truth", `${path}.truth`, path]);
  return { path, truth: JSON.parse(readFileSync(`${path}.truth`, "utf8")) };
}

function analyze(path) {
  return JSON.parse(execFileSync(PROGRAM, ["analyze", "--json", path], { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] }));
}

const ns = (us) => (us === null ? null : Math.round(us * 1000));
const parts = ["span", "busy", "compute", "communication", "communication_exposed", "overlap", "free", "bubble"];

function agree(rows, rank, step, truth, more = []) {
  const row = rows.find((r) => r.step === step && r.rank === rank);
  assert.ok(row, `no row for rank ${rank}, step ${step}`);
  for (const part of [...parts, ...more]) assert.equal(ns(row[`${part}_us`]), truth[`${part}_ns`], `rank ${rank}, step ${step}: ${part}`);
}

for (const layout of ["plain", "old"])
  for (const fault of ["healthy", "parallel.poor_overlap", "parallel.pipeline_bubble", "cpu.host_bound"])
    test(`msprof output of the ${layout} layout is exact: ${fault}`, () => {
      const { path, truth } = make("msprof", "--layout", layout, "--fault", fault, "--seed", "5");
      const { breakdown, profile } = analyze(path);
      const [rank] = truth.ranks;
      assert.equal(profile.format, "msprof-text");
      assert.equal(profile.chip, "Ascend910B");
      assert.deepEqual(profile.warnings, []);
      for (const { step, breakdown: wanted } of rank.steps) agree(breakdown.rows, null, step, wanted, ["step", "preparing"]);
      agree(breakdown.rows, null, null, rank.whole);
      // without its timeline, the slices of op_summary and the windows of step_trace have to do
      execFileSync("find", [path, "-name", "msprof*.json", "-delete"]);
      const poorer = analyze(path).breakdown.rows;
      for (const { step, from_kernels } of rank.steps) agree(poorer, null, step, from_kernels, ["step", "preparing"]);
      // and without op_summary the collectives of step_trace remain
      execFileSync("find", [path, "-name", "op_summary*", "-delete"]);
      for (const { step, from_kernels } of rank.steps) {
        const row = analyze(path).breakdown.rows.find((r) => r.step === step);
        assert.equal(ns(row.communication_us), from_kernels.communication_ns);
      }
    });

test("the PyTorch profiler and msprof tell the same of one job", () => {
  for (const fault of ["healthy", "compute.format_conversion", "compute.aicpu"]) {
    const [text, raw, old] = [["ascend", "--ranks", "1"], ["msprof"], ["msprof", "--layout", "old"]].map(([format, ...options]) => analyze(make(format, ...options, "--fault", fault).path));
    const known = ({ name, type, unit, count, total_us, min_us, max_us }) => ({ name, type, unit, count, total_us, min_us, max_us });
    const compute = (answer) => answer.operators.rows.filter((r) => r.class === "compute").map(known);
    assert.ok(compute(text).length > 3);
    assert.deepEqual(compute(raw), compute(text));
    assert.deepEqual(compute(old), compute(text));
    const rows = (answer) => answer.breakdown.rows.filter((r) => r.step !== null).map(({ rank, device, ...rest }) => rest);
    assert.deepEqual(rows(raw), rows(text));
    assert.deepEqual(rows(old), rows(text));
    const serious = (answer) => answer.analysis.findings.filter((f) => f.severity !== "info").map((f) => f.code);
    assert.ok(serious(raw).every((code) => serious(text).includes(code)));
    if (fault !== "healthy") assert.ok(serious(raw).includes(`${fault}`), fault);
  }
});

test("a cluster analysis tells of each rank what the rank's own capture tells", () => {
  const options = ["--ranks", "6", "--steps", "2", "--fault", "parallel.pipeline_bubble"];
  const { path, truth } = make("cluster", ...options);
  const { breakdown, profile, communication } = analyze(path);
  assert.equal(profile.format, "ascend-cluster-analysis");
  assert.deepEqual(profile.ranks.map((r) => r.rank ?? r), [0, 1, 2, 3, 4, 5]);
  for (const rank of truth.ranks) for (const { step, breakdown: wanted } of rank.steps) agree(breakdown.rows, rank.rank, step, wanted);
  assert.equal(breakdown.rows.filter((r) => r.step !== null).length, 12);
  assert.deepEqual(communication.domains.map((d) => [d.group, d.ranks]), [["(0, 1, 2)", [0, 1, 2]], ["(3, 4, 5)", [3, 4, 5]]]);
  const own = analyze(make("ascend", ...options).path).communication;
  const collective = (answer) => answer.operators.filter((o) => !o.name.startsWith("hcom_receive")).map(({ rank, step, name, elapse_us, transit_us, wait_us, bytes }) => ({ rank, step, name, elapse_us, transit_us, wait_us, bytes }));
  assert.deepEqual(collective({ operators: communication.operators }), collective({ operators: own.operators }));
  assert.deepEqual(communication.domains.map((d) => d.r_wait), own.domains.map((d) => d.r_wait));
});

test("a healthy job is left alone in these forms too", () => {
  for (const format of ["msprof", "cluster"]) {
    const { analysis } = analyze(make(format, "--steps", "3").path);
    assert.deepEqual(analysis.findings.filter((f) => f.severity !== "info").map((f) => f.code), [], format);
    assert.equal(analysis.verdict.component, null);
  }
});

test("op_summary is cut into slices", () => {
  const { path } = make("msprof");
  const [prof] = readdirSync(path);
  assert.equal(readdirSync(join(path, prof, "mindstudio_profiler_output")).filter((f) => f.startsWith("op_summary_slice_")).length, 3);
});
