#!/usr/bin/env node
// tests/truth/truth.mjs [--short] [--code CODE]... [--dialect NAME]... [--verbose]
// The ground-truth benchmark: made-up jobs with causes of known size, healthy ones and near misses; prints for each
// code how often it was found, how often it was said wrongly, and how far the estimated gain was off the true one.
import { jobs } from "./jobs.mjs";
import { summary } from "./judge.mjs";
import { name, run } from "./run.mjs";

const options = {};
const args = process.argv.slice(2);
for (let i = 0; i < args.length; i++) {
  if (args[i] === "--short") options.short = true;
  else if (args[i] === "--verbose") options.verbose = true;
  else if (args[i] === "--code") (options.codes ??= []).push(args[++i]);
  else if (args[i] === "--dialect") (options.dialects ??= []).push(args[++i]);
  else throw new Error(`unknown option ${args[i]}`);
}

const share = (x) => (x === null ? "   -" : x === Infinity ? " inf" : x.toFixed(2).padStart(4));
const list = jobs(options);
const started = Date.now();
const results = await run(list);
const rows = summary(results);

console.log(`${list.length} jobs in ${Math.round((Date.now() - started) / 1000)} s; goals: recall and precision 0.95 at high confidence, 0.9 of the gains within 10 %`);
console.log(`${"code".padEnd(30)} cases  recall: any  high  precision  gain error: median   p90  within 10 %`);
for (const r of rows)
  console.log(`${r.code.padEnd(30)} ${String(r.cases).padStart(5)}         ${share(r.recall_any)}  ${share(r.recall_high)}       ${share(r.precision)}                ${share(r.gain_median)}  ${share(r.gain_p90)}         ${share(r.gain_within)}`);
const quiet = results.filter((r) => r.verdict.quiet);
console.log(`${quiet.length} healthy jobs and near misses, ${quiet.filter((r) => r.verdict.alarms.length > 0).length} with a finding above info`);
if (options.verbose)
  for (const r of results) {
    const said = r.analysis.findings.map((f) => `${f.code} rank ${f.rank} ${f.severity} ${f.confidence} ${f.share_of_step?.toFixed(3)} gain ${f.estimated_gain?.step_us?.toFixed(0)}`);
    const bad = r.verdict.alarms.length > 0 || r.verdict.found.some((f) => f.counts && (!f.high || (f.error ?? 0) > 0.1));
    if (bad) console.log(`${name(r.job)}\n  true ${r.verdict.found.map((f) => `${f.code} ${f.gain_us.toFixed(0)} us, share ${f.share.toFixed(3)}`).join("; ")}\n  ${said.join("\n  ") || "nothing said"}`);
  }
const failed = rows.filter((r) => [r.recall_high, r.precision].some((x) => x !== null && x < 0.95) || (r.gain_within !== null && r.gain_within < 0.9));
console.log(failed.length === 0 ? "all codes reach the goals" : `short of the goals: ${failed.map((r) => r.code).join(", ")}`);
