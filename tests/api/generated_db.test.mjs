// One made-up run as text and as databases: the answers must not tell which it was. And each database agrees with its
// own analysis.db, which the generator fills from its own books.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { GENERATE, PROGRAM } from "../support/service.mjs";

const place = mkdtempSync(join(tmpdir(), "signalbox-generated-db-"));
after(() => rmSync(place, { recursive: true, force: true }));
let made = 0;

function make(...options) {
  const path = join(place, `job${made++}`);
  execFileSync(GENERATE, ["ascend", ...options, "--truth", `${path}.truth`, path]);
  return { path, truth: JSON.parse(readFileSync(`${path}.truth`, "utf8")) };
}

function analyze(path) {
  return JSON.parse(execFileSync(PROGRAM, ["analyze", "--json", path], { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] }));
}

const ns = (us) => (us === null ? null : Math.round(us * 1000));
const close = (a, b, what) => assert.ok(a === b || Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b)), `${what}: ${a} and ${b}`);

// A row of the timeline's lane has the gap to the next step, the kernels do not know of it: the generator books both.
function books(truth, rows) {
  for (const rank of truth.ranks)
    for (const { step, from_kernels } of [{ step: null, from_kernels: rank.whole }, ...rank.steps]) {
      const row = rows.find((r) => r.rank === rank.rank && r.step === step);
      assert.ok(row, `no row for rank ${rank.rank}, step ${step}`);
      for (const [key, value] of Object.entries(from_kernels))
        if (value !== null && !(step === null && ["step_ns", "preparing_ns"].includes(key)))
          assert.equal(ns(row[key.replace("_ns", "_us")]), value, `rank ${rank.rank} step ${step} ${key}`);
    }
}

function operators(answer) {
  return answer.operators.rows.map(({ name, type, unit, count, total_us, min_us, max_us }) => ({ name, type, unit, count, total: ns(total_us), min: ns(min_us), max: ns(max_us) }));
}

// Text lists all links, the database those that were used.
function communication(text, db) {
  const key = (o) => [o.rank, o.step, o.name, o.group].join(" ");
  assert.deepEqual(db.communication.operators.map(key), text.communication.operators.map(key));
  text.communication.operators.forEach((want, i) => {
    const have = db.communication.operators[i];
    assert.equal(have.bytes, want.bytes);
    for (const field of ["elapse_us", "transit_us", "wait_us"]) if (want[field] !== null) close(have[field], want[field], field);
    for (const link of (want.links ?? []).filter((l) => l.bytes > 0)) {
      const same = have.links.find((l) => l.link === link.link);
      assert.equal(same.bytes, link.bytes);
      close(same.transit_us, link.transit_us, link.link);
      assert.deepEqual(same.packets.map((p) => [p.bytes, p.count]), link.packets.map((p) => [p.bytes, p.count]));
    }
  });
  assert.deepEqual(db.communication.domains.map((d) => [d.group, d.ranks, d.slow_rank]), text.communication.domains.map((d) => [d.group, d.ranks, d.slow_rank]));
}

const varieties = [
  ["--level", "0"],
  ["--level", "1"],
  ["--level", "2", "--layout", "new"],
  ["--level", "1", "--layout", "old", "--seed", "5"],
  ["--level", "1", "--layout", "insight", "--ranks", "3", "--fault", "communication.slow_rank"],
  ["--level", "2", "--fault", "parallel.pipeline_bubble", "--seed", "9", "--ranks", "4"],
  ["--level", "1", "--steps", "1", "--fault", "parallel.poor_overlap"],
  ["--level", "2", "--fault", "cpu.synchronization", "--layout", "new"],
];
for (const options of varieties)
  test(`text and databases of ${options.join(" ")} give the same answers`, () => {
    const text = analyze(make(...options).path);
    const { path, truth } = make(...options, "--db");
    const db = analyze(path);
    assert.equal(db.profile.format, "ascend-pytorch-db");
    assert.deepEqual(db.profile.warnings, []);
    assert.deepEqual(db.profile.left_out, []);
    books(truth, db.breakdown.rows);
    for (const want of text.breakdown.rows) {
      const have = db.breakdown.rows.find((r) => r.rank === want.rank && r.step === want.step);
      for (const field of ["step_us", "compute_us", "communication_us", "communication_exposed_us", "overlap_us", "bubble_us", "preparing_us"])
        assert.equal(have[field], want[field], `rank ${want.rank} step ${want.step} ${field}`);
    }
    assert.deepEqual(operators(db), operators(text));
    communication(text, db);
    const verdict = ({ component, cause }) => ({ component, cause });
    assert.deepEqual(verdict(db.analysis.verdict), verdict(text.analysis.verdict));
    // at level 0 only the database has the host's calls into CANN
    const findings = (x) => x.analysis.findings.map(({ code, severity, rank, step }) => [code, severity, rank, step].join(" ")).sort();
    if (!options.join(" ").includes("--level 0")) assert.deepEqual(findings(db), findings(text));
  });

const faults = [
  ["parallel.poor_overlap", "parallel.poor_overlap"],
  ["communication.small_packets", "communication.small_packets"],
  ["communication.alignment", "communication.alignment"],
  ["compute.format_conversion", "compute.format_conversion"],
  ["compute.aicpu", "compute.aicpu"],
  ["communication.slow_rank", "communication.slow_rank"],
  ["cpu.host_bound", "cpu.host_bound"],
  ["io.loading", "io.loading"],
  ["cpu.synchronization", "cpu.synchronization"],
  ["compute.underutilized", "compute.underutilized"],
  ["parallel.pipeline_bubble", "parallel.pipeline_bubble"],
];
for (const [fault, code] of faults)
  test(`a database with ${fault} gets ${code}`, () => {
    const { analysis } = analyze(make("--db", "--ranks", "4", "--fault", fault).path);
    assert.equal(`${analysis.verdict.component}.${analysis.verdict.cause}`, code, analysis.findings.map((f) => `${f.code} (${f.severity})`).join(", "));
  });

test("a healthy run's databases get no finding above info", () => {
  const { analysis } = analyze(make("--db", "--ranks", "4").path);
  assert.deepEqual(analysis.findings.filter((f) => f.severity !== "info"), []);
});

test("MindSpore's names for the same tables", () => {
  const { path } = make("--db", "--ranks", "1");
  const [folder] = readdirSync(path);
  const as = join(place, "ms", folder.replace("_ascend_pt", "_ascend_ms"));
  const want = analyze(path);

  mkdirSync(join(place, "ms"));
  renameSync(join(path, folder), as);
  renameSync(join(as, "ASCEND_PROFILER_OUTPUT", "ascend_pytorch_profiler_0.db"), join(as, "ASCEND_PROFILER_OUTPUT", "ascend_mindspore_profiler_0.db"));
  renameSync(join(as, "ASCEND_PROFILER_OUTPUT", "analysis.db"), join(as, "ASCEND_PROFILER_OUTPUT", "communication_analyzer.db"));
  const have = analyze(join(place, "ms"));
  assert.equal(have.profile.format, "mindspore-db");
  assert.deepEqual(have.breakdown, want.breakdown);
  assert.deepEqual(have.communication, want.communication);
});
