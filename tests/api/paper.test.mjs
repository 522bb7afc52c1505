// The cases of the Hermes paper (section 5), rebuilt with the generator at the paper's proportions: what its authors
// found and what their remedy gained must be found and promised here.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { GENERATE, PROGRAM } from "../support/service.mjs";

const place = mkdtempSync(join(tmpdir(), "signalbox-paper-"));
after(() => rmSync(place, { recursive: true, force: true }));
let made = 0;

// The answers, and the true mean step with and without the faults, us.
function play(options, faults) {
  const path = join(place, `job${made++}`);
  const step_us = (list, ...to) => {
    execFileSync(GENERATE, [...options, "--fault", list || "healthy", "--truth", `${path}.truth`, ...to]);
    return JSON.parse(readFileSync(`${path}.truth`, "utf8")).mean_step_ns / 1000;
  };
  const without = step_us(faults.map((f) => `${f.split("=")[0]}=0`).join(","));
  const broken = step_us(faults.join(","), path);
  const answer = JSON.parse(execFileSync(PROGRAM, ["analyze", "--json", path], { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] }));
  return { ...answer, broken, without };
}

const serious = ({ analysis }) => analysis.findings.filter((f) => f.severity !== "info");
const codes = (answer) => [...new Set(serious(answer).map((f) => f.code))];
const verdict = ({ analysis }) => `${analysis.verdict.component}.${analysis.verdict.cause}`;
const near = (value, wanted, share, what) => assert.ok(Math.abs(value - wanted) <= share * wanted, `${what}: ${value}, not ${wanted}`);

test("ResNet50 with one loader worker: processing, and the step five times as fast without", () => {
  const job = play(["ascend", "--layout", "mindspore", "--ranks", "1", "--kernels", "135", "--steps", "10"], ["io.processing=72.55"]);
  near(job.broken, 90000, 0.02, "step");
  assert.equal(verdict(job), "io.processing");
  const [finding] = serious(job);
  near(finding.estimated_gain.step_us, job.broken - job.without, 0.1, "gain");
  near(finding.estimated_gain.speedup, 5.03, 0.1, "speedup");
  assert.ok(job.advice.items.some((item) => item.finding === "io.processing"));
});

test("GPT-3 with a foreign process on its node: contention, on rank 3", () => {
  const job = play(["ascend", "--ranks", "8", "--kernels", "300", "--steps", "4", "--culprit", "3"], ["cpu.contention=6.55"]);
  near(job.broken / job.without, 444.4 / 374.88, 0.05, "slowdown");
  const finding = serious(job).find((f) => f.code === "cpu.contention");
  assert.equal(finding?.rank, 3, codes(job).join(", "));
  assert.ok(!codes(job).some((code) => ["cpu.compilation", "cpu.dispatch", "cpu.synchronization", "cpu.garbage_collection", "cpu.environment"].includes(code)), codes(job).join(", "));
});

test("VGG16 with packets of 12.81 MB: small packets, and fusion gains a third", () => {
  const job = play(["ascend", "--ranks", "8", "--kernels", "445", "--reduces", "10", "--packet-ns", "421000"], ["communication.small_packets=12810240"]);
  near(job.broken / job.without, 76.492 / 56.64, 0.05, "what fusion gains");
  assert.equal(verdict(job), "communication.small_packets");
  const finding = serious(job).find((f) => f.code === "communication.small_packets");
  near(finding.estimated_gain.speedup, job.broken / job.without, 0.1, "promised speedup");
  assert.ok(finding.evidence.some((e) => e.metric === "mean_packet_bytes" && e.value === 12810240));
  const advice = job.advice.items.find((item) => item.finding === "communication.small_packets");
  assert.match(JSON.stringify(advice.actions), /fus/i);
});

test("a rank whose garbage collector holds up all others", () => {
  const job = play(["ascend", "--ranks", "16", "--kernels", "64", "--steps", "4", "--culprit", "11"], ["cpu.garbage_collection=9"]);
  const finding = serious(job).find((f) => f.code === "cpu.garbage_collection");
  assert.equal(finding?.rank, 11, codes(job).join(", "));
  near(finding.estimated_gain.step_us, job.broken - job.without, 0.1, "gain");
  assert.ok(codes(job).every((code) => ["cpu.garbage_collection", "communication.slow_rank"].includes(code)), codes(job).join(", "));
});

// Section 8.3's large-scale case: "unsynchronised GCs serialise within a step".
test("collectors of all ranks, each elsewhere in its step: they add up, and no rank is blamed", () => {
  const job = play(["ascend", "--ranks", "16", "--kernels", "64", "--steps", "4", "--scatter"], ["cpu.garbage_collection=9"]);
  const together = play(["ascend", "--ranks", "16", "--kernels", "64", "--steps", "4"], ["cpu.garbage_collection=9"]);
  assert.ok(job.broken > 1.1 * together.broken, `${job.broken} after ${together.broken}`);
  assert.equal(verdict(job), "cpu.garbage_collection");
  assert.deepEqual(codes(job), ["cpu.garbage_collection"]);
  const gain = Math.max(...serious(job).map((f) => f.estimated_gain?.step_us ?? 0));
  near(gain, job.broken - job.without, 0.1, "gain");
});

test("no fusion for packets that are large already, as DLRM's, however much of the step they take", () => {
  const job = play(["ascend", "--ranks", "8", "--reduces", "9", "--shape", "experts"], ["parallel.poor_overlap"]);
  assert.ok(job.broken > 1.5 * job.without);
  assert.ok(!codes(job).includes("communication.small_packets"), codes(job).join(", "));
  assert.ok(!job.advice.items.some((item) => item.finding === "communication.small_packets"));
});

test("no fusion where communication is short and hidden, as ResNet50's", () => {
  const job = play(["ascend", "--ranks", "8", "--reduces", "1"], ["communication.small_packets=12810240"]);
  assert.ok(job.broken < 1.02 * job.without);
  assert.deepEqual(codes(job), []);
});
