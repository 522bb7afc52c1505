// Made-up jobs with known answers: the generator keeps its own books, and the program must agree to the nanosecond.
// Each fault must be found, and a healthy job must be left alone.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { GENERATE, PROGRAM } from "../support/service.mjs";

const place = mkdtempSync(join(tmpdir(), "signalbox-generated-"));
after(() => rmSync(place, { recursive: true, force: true }));
let made = 0;

function make(format, ...options) {
  const path = join(place, `job${made++}${options.includes("--gzip") && !options.includes("--ranks") ? ".json.gz" : ""}`);
  execFileSync(GENERATE, [format, ...options, "--truth", `${path}.truth`, path]);
  return { path, truth: JSON.parse(readFileSync(`${path}.truth`, "utf8")) };
}

function analyze(path) {
  return JSON.parse(execFileSync(PROGRAM, ["analyze", "--json", path], { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] }));
}

const ns = (us) => (us === null ? null : Math.round(us * 1000));

function agree(truth, rows, compare_rank = true) {
  for (const rank of truth.ranks) {
    const wanted = [{ step: null, breakdown: rank.whole }, ...rank.steps];
    for (const { step, breakdown } of wanted) {
      const row = rows.find((r) => r.step === step && (!compare_rank || r.rank === rank.rank));
      assert.ok(row, `no row for rank ${rank.rank}, step ${step}`);
      for (const [key, value] of Object.entries(breakdown)) {
        // What a row of the whole capture says of steps is its own business.
        if (step === null && ["step_ns", "preparing_ns"].includes(key)) continue;
        const field = key.replace("_ns", "_us");
        // A GPU has no pipeline bubble lane, and the time before its first kernel is free time to us.
        if (value === null) {
          if (!["preparing_us", "bubble_us"].includes(field)) assert.equal(row[field], null, `rank ${rank.rank} step ${step} ${field}`);
          continue;
        }
        assert.equal(ns(row[field]), value, `rank ${rank.rank} step ${step} ${field}`);
      }
    }
  }
}

const varieties = [
  ["kineto", "--events", "20000"],
  ["kineto", "--events", "20000", "--gzip", "--seed", "2", "--fault", "parallel.poor_overlap"],
  ["kineto", "--events", "9000", "--old", "--seed", "3"],
  ["kineto", "--events", "9000", "--ranks", "3", "--fault", "communication.slow_rank"],
  ["kineto", "--events", "9000", "--fault", "cpu.synchronization"],
  ["signalbox", "--events", "20000", "--ranks", "2"],
  ["signalbox", "--events", "9000", "--gzip", "--fault", "communication.slow_rank", "--seed", "4"],
  ["nsys", "--events", "20000"],
  ["nsys", "--events", "9000", "--ranks", "2", "--fault", "cpu.synchronization", "--seed", "4"],
  ["ascend", "--level", "0"],
  ["ascend", "--level", "1", "--ranks", "3", "--fault", "communication.slow_rank"],
  ["ascend", "--level", "2", "--fault", "parallel.pipeline_bubble", "--seed", "9"],
  ["ascend", "--fault", "parallel.poor_overlap"],
  ["ascend", "--layout", "mindspore", "--fault", "cpu.synchronization"],
  ["mindinsight", "--ranks", "3", "--seed", "5"],
  ["mindinsight", "--steps", "1"],
];
for (const options of varieties)
  test(`the breakdown of ${options.join(" ")} is exact`, () => {
    const { path, truth } = make(...options);
    const { breakdown, profile } = analyze(path);
    agree(truth, breakdown.rows, truth.ranks.length > 1);
    assert.equal(profile.format.startsWith(truth.format), true);
  });

test("one job in our own format and in Kineto's gets the same answers", () => {
  for (const fault of ["healthy", "cpu.synchronization", "io.loading", "memory.allocation"]) {
    const [ours, kineto] = ["signalbox", "kineto"].map((format) => analyze(make(format, "--events", "20000", "--ranks", "2", "--fault", fault).path));
    assert.deepEqual(ours.profile.warnings, []);
    // how far kernels fill the device, only Kineto's trace says
    ours.analysis.not_evaluated = ours.analysis.not_evaluated.filter(({ code }) => code !== "compute.underutilized");
    for (const part of ["breakdown", "operators", "communication", "analysis", "advice"]) assert.deepEqual(ours[part], kineto[part], `${fault}: ${part}`);
  }
});

test("one job captured by Nsight Systems and by Kineto gets the same answers", () => {
  for (const fault of ["healthy", "cpu.synchronization", "io.loading", "parallel.poor_overlap"]) {
    const [nsys, kineto] = ["nsys", "kineto"].map((format) => analyze(make(format, "--events", "20000", "--ranks", "2", "--fault", fault).path));
    assert.deepEqual(nsys.profile.warnings.map((w) => w.code), ["rank_from_name", "rank_from_name"]);
    for (const part of ["breakdown", "operators"]) assert.deepEqual(nsys[part], kineto[part], `${fault}: ${part}`);
    // sizes and groups of collectives are not in an export: what needs them is told, the rest is the same
    assert.deepEqual([nsys.analysis.verdict.component, nsys.analysis.verdict.cause], [kineto.analysis.verdict.component, kineto.analysis.verdict.cause], fault);
  }
});

test("operators add up to the generator's books", () => {
  const { path, truth } = make("ascend", "--ranks", "1");
  const { operators } = analyze(path);
  for (const { name, count, total_ns, min_ns, max_ns } of truth.ranks[0].operators) {
    const row = operators.rows.find((r) => r.type === name || r.name === name);
    assert.ok(row, name);
    assert.deepEqual([row.count, ns(row.total_us), ns(row.min_us), ns(row.max_us)], [count, total_ns, min_ns, max_ns]);
  }
});

const faults = [
  ["ascend", "parallel.poor_overlap", "parallel.poor_overlap"],
  ["ascend", "communication.small_packets", "communication.small_packets"],
  ["ascend", "communication.alignment", "communication.alignment"],
  ["ascend", "compute.format_conversion", "compute.format_conversion"],
  ["ascend", "compute.aicpu", "compute.aicpu"],
  ["ascend", "communication.slow_rank", "communication.slow_rank"],
  ["ascend", "cpu.host_bound", "cpu.host_bound"],
  ["ascend", "io.loading", "io.loading"],
  ["ascend", "cpu.synchronization", "cpu.synchronization"],
  ["ascend", "compute.underutilized", "compute.underutilized"],
  ["ascend", "parallel.pipeline_bubble", "parallel.pipeline_bubble"],
  ["kineto", "parallel.poor_overlap", "parallel.poor_overlap"],
  ["kineto", "cpu.host_bound", "cpu.host_bound"],
  ["kineto", "io.loading", "io.loading"],
  ["kineto", "cpu.synchronization", "cpu.synchronization"],
];
const size = (format) => (format === "kineto" ? ["--events", "20000", "--ranks", "2"] : ["--ranks", "4"]);
for (const [format, fault, code] of faults)
  test(`${format} with ${fault} gets ${code} and advice for it`, () => {
    const { analysis, advice } = analyze(make(format, ...size(format), "--fault", fault).path);
    const finding = analysis.findings.find((f) => f.code === code);
    assert.ok(finding, `only ${analysis.findings.map((f) => `${f.code} (${f.severity})`).join(", ")}`);
    assert.notEqual(finding.severity, "info");
    assert.equal(`${analysis.verdict.component}.${analysis.verdict.cause}`, code);
    assert.ok(finding.evidence.length > 0 && finding.evidence.every((e) => e.threshold === null || e.origin));
    assert.ok(advice.items.some((item) => item.finding === code));
  });

// tests/generate/stack.c has the frames: the fault's calls come from the metric, one call a step from the loss.
for (const [name, dialect, ...options] of [["Kineto", "kineto", "--units", "300"], ["Ascend text", "ascend"], ["Ascend databases", "ascend", "--db"]])
  test(`${name}: calls that wait for the device are shown with who made them`, () => {
    const { analysis } = analyze(make(dialect, ...options, "--ranks", "2", "--steps", "4", "--fault", "cpu.synchronization").path);
    const [worst, second] = analysis.findings.find((f) => f.code === "cpu.synchronization").operators.map((o) => o.name);
    assert.equal(worst, "aten::item < metrics.py(31): update < train.py(141): training_step");
    assert.equal(second, "aten::item < train.py(163): print_loss < train.py(88): epoch");
  });

// What cannot be judged from a source must not be passed over in silence.
for (const [fault, code] of [["communication.slow_rank", "communication.slow_rank"], ["compute.underutilized", "compute.underutilized"]])
  test(`kineto with ${fault} gets ${code} or is told what that would need`, () => {
    const { analysis } = analyze(make("kineto", ...size("kineto"), "--fault", fault).path);
    const missing = analysis.not_evaluated.find((n) => n.code === code);
    assert.ok(analysis.findings.some((f) => f.code === code) || missing?.needs);
  });

for (const format of ["ascend", "kineto"])
  test(`a healthy ${format} job is left alone`, () => {
    for (const seed of ["1", "2", "3"]) {
      const { analysis } = analyze(make(format, ...size(format), "--seed", seed).path);
      assert.deepEqual(analysis.findings.filter((f) => f.severity !== "info").map((f) => f.code), []);
      assert.equal(analysis.verdict.component, null);
    }
  });

test("markup in an operator's name comes out as it went in", () => {
  const name = '<img src=x onerror="alert(1)">, "é"\ttab';
  const { path } = make("kineto", "--events", "3000", "--name", name);
  assert.equal(JSON.stringify(analyze(path)).includes("\u0000"), false);
  const ascend = make("ascend", "--ranks", "1", "--name", name);
  const names = analyze(ascend.path);
  assert.ok(names.operators.rows.length > 0);
});

test("the same job gives the same bytes", () => {
  const { path } = make("ascend", "--ranks", "2", "--fault", "communication.small_packets");
  const once = () => execFileSync(PROGRAM, ["analyze", "--json", path], { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] })
    .replace(/"(id|created_at)": ?"[^"]*"/g, "");
  assert.equal(once(), once());
});

test("a job on MindSpore gets the answers of the same job on PyTorch", () => {
  for (const fault of ["healthy", "compute.aicpu", "parallel.pipeline_bubble"]) {
    const [ms, pt] = ["mindspore", "plain"].map((layout) => analyze(make("ascend", "--layout", layout, "--fault", fault).path));
    assert.equal(ms.profile.format, "mindspore-text");
    assert.deepEqual(ms.profile.left_out, []);
    // only MindSpore has queues, from which it can be told that no data is missing
    pt.analysis.not_evaluated = pt.analysis.not_evaluated.filter(({ code }) => !["io.reading", "io.processing"].includes(code));
    for (const part of ["breakdown", "operators", "communication", "analysis", "advice"]) assert.deepEqual(ms[part], pt[part], `${fault}: ${part}`);
  }
});

test("sums of MindInsight are answered as sums, and its queues as what they say", () => {
  for (const fault of ["healthy", "io.reading"]) {
    const { path, truth } = make("mindinsight", "--fault", fault);
    const { operators, analysis } = analyze(path);
    for (const { name, count, total_ns } of truth.ranks[0].operators) {
      const row = operators.rows.find((r) => r.name === name);
      assert.deepEqual([row.count, ns(row.total_us), row.min_us, row.max_us], [count, total_ns, null, null]);
    }
    assert.deepEqual(analysis.findings.map((f) => f.code), fault === "healthy" ? [] : [fault]);
    assert.equal(analysis.verdict.component, fault === "healthy" ? null : "io");
  }
});
