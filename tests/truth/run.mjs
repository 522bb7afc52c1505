// Makes each job twice, with its faults and without, has it analysed, and keeps what was said beside the truth.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { GENERATE, PROGRAM } from "../support/service.mjs";
import { judge } from "./judge.mjs";

const call = promisify(execFile);
const text = (faults) => (faults.length === 0 ? "healthy" : faults.map(([code, size]) => `${code}=${size}`).join(","));
export const name = (job) => `${job.options.join(" ")} --fault ${text(job.faults)}`;

// Without a path only the truth is worked out.
async function make(place, job, faults, ...path) {
  await call(GENERATE, [...job.options, "--fault", text(faults), "--truth", `${place}/truth`, ...path]);
  return JSON.parse(readFileSync(`${place}/truth`, "utf8")).mean_step_ns;
}

async function one(job) {
  const place = mkdtempSync(join(tmpdir(), "signalbox-truth-"));
  try {
    const without = [];
    for (let i = 0; i < job.faults.length; i++)
      without.push(await make(place, job, job.faults.map(([code, size], k) => [code, k === i ? 0 : size])));
    const truth = { with: await make(place, job, job.faults, join(place, "job")), without };
    const { stdout } = await call(PROGRAM, ["analyze", "--json", join(place, "job")], { maxBuffer: 1 << 28 });
    const { analysis, breakdown } = JSON.parse(stdout);
    return { job: { ...job, truth }, analysis, breakdown, verdict: judge({ ...job, truth }, analysis) };
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

// In the order of the jobs, `workers` at a time.
export async function run(jobs, workers = 2) {
  const results = new Array(jobs.length);
  let next = 0;
  const work = async () => {
    for (let i = next++; i < jobs.length; i = next++) results[i] = await one(jobs[i]);
  };
  await Promise.all(Array.from({ length: workers }, work));
  return results;
}
