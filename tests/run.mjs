#!/usr/bin/env node
// tests/run [--build DIR] RING...   runs rings of tests that are built already and adds up their results.
// Rings: lint, unit, unit/ROOM, oracles, field, fuzz, docs, docker, api, web; "all" is every one.
// The last line is always "N passed, N failed, N skipped".
import { spawn } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

const ALL = ["lint", "unit", "oracles", "field", "fuzz", "docs", "docker", "api", "web"];
const LIMIT_SECONDS = { unit: 300, oracles: 600, field: 600, fuzz: 300, node: 400 };

function arguments_of(argv) {
  let build = "build";
  const rings = [];
  for (let i = 0; i < argv.length; i++) {
    if (argv[i] === "--build") build = argv[++i];
    else if (argv[i] === "all") rings.push(...ALL);
    else rings.push(argv[i]);
  }
  return { build, rings };
}

const { build, rings } = arguments_of(process.argv.slice(2));
const environment = {
  ...process.env,
  SIGNALBOX_BUILD: resolve(build),
  SIGNALBOX: resolve(build, "signalbox"),
  SIGNALBOX_GENERATE: resolve(build, "generate"),
  TSAN_OPTIONS: process.env.TSAN_OPTIONS ?? `suppressions=${resolve("tests/tsan.supp")} halt_on_error=1`,
  UBSAN_OPTIONS: process.env.UBSAN_OPTIONS ?? "print_stacktrace=1",
};
// What an outer test runner left behind would make the inner one speak to it instead of to us.
delete environment.NODE_TEST_CONTEXT;

function list(directory, pattern) {
  if (!existsSync(directory)) return [];
  return readdirSync(directory).filter((name) => pattern.test(name)).sort().map((name) => join(directory, name));
}

function run(command, args, { seconds, env = {} }) {
  return new Promise((done) => {
    let output = "";
    const child = spawn(command, args, {
      env: { ...environment, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    const timer = setTimeout(() => {
      output += `\nstopped after ${seconds} s\n`;
      process.kill(-child.pid, "SIGKILL");
    }, seconds * 1000);
    child.stdout.on("data", (data) => (output += data));
    child.stderr.on("data", (data) => (output += data));
    child.on("error", (error) => { clearTimeout(timer); done({ code: 127, output: `${error.message}\n` }); });
    child.on("close", (code, signal) => { clearTimeout(timer); done({ code: code ?? 1, signal, output }); });
  });
}

// CMocka's TAP: a program that dies early, or leaves a planned test out, has one failure more.
function count_tap(output, code) {
  const count = { passed: 0, failed: 0, skipped: 0 };
  let planned = 0;
  for (const line of output.split("\n")) {
    const plan = /^1\.\.(\d+)/.exec(line);
    if (plan) planned += Number(plan[1]);
    const result = /^(not )?ok \d+/.exec(line);
    if (!result) continue;
    if (/# SKIP/i.test(line)) count.skipped++;
    else if (result[1]) count.failed++;
    else count.passed++;
  }
  const seen = count.passed + count.failed + count.skipped;
  if ((code !== 0 || seen < planned || seen === 0) && count.failed === 0) count.failed++;
  return count;
}

async function c_ring(ring, sources) {
  const jobs = sources.map((source) => async () => {
    const program = join(build, source.replace(/\.c$/, ""));
    if (!existsSync(program)) return { name: source, passed: 0, failed: 1, skipped: 0, output: `${program} is not built\n` };
    const { code, signal, output } = await run(resolve(program), [], {
      seconds: LIMIT_SECONDS[ring.split("/")[0]],
      env: { CMOCKA_MESSAGE_OUTPUT: "TAP" },
    });
    return { name: source, ...count_tap(output, code), output: signal ? `${output}ended by ${signal}\n` : output };
  });
  return two_at_a_time(jobs);
}

function unit_sources(ring) {
  const room = ring.split("/")[1];
  const rooms = room ? [room] : existsSync("tests/unit") ? readdirSync("tests/unit").sort() : [];
  return rooms.flatMap((name) => list(join("tests/unit", name), /^test_.*\.c$/));
}

// One input at a time tells which of them is at fault; all at once is quicker while there is none.
async function fuzz_target(source) {
  const name = source.replace(/^.*fuzz_/, "").replace(/\.c$/, "");
  const program = resolve(build, source.replace(/\.c$/, ""));
  const inputs = list(join("tests/fuzz/corpus", name), /^[^.]/).filter((path) => statSync(path).isFile());
  if (!existsSync(program)) return { name: source, passed: 0, failed: 1, skipped: 0, output: `${program} is not built\n` };
  if (inputs.length === 0) return { name: source, passed: 0, failed: 1, skipped: 0, output: "it has no corpus\n" };
  const whole = await run(program, inputs, { seconds: LIMIT_SECONDS.fuzz });
  if (whole.code === 0) return { name: source, passed: inputs.length, failed: 0, skipped: 0, output: "" };
  const result = { name: source, passed: 0, failed: 0, skipped: 0, output: "" };
  for (const input of inputs) {
    const one = await run(program, [input], { seconds: 60 });
    if (one.code === 0) result.passed++;
    else { result.failed++; result.output += `${input}\n${one.output}`; }
  }
  if (result.failed === 0) { result.failed = 1; result.output = whole.output; }
  return result;
}

async function node_ring(ring) {
  const directory = `tests/${ring}`;
  const results = [];
  for (const file of list(directory, /\.test\.mjs$/)) {
    const { code, output } = await run(process.execPath, ["--test", "--test-reporter=tap", file], {
      seconds: LIMIT_SECONDS.node,
    });
    const total = (word) => Number(new RegExp(`^# ${word} (\\d+)`, "m").exec(output)?.[1] ?? 0);
    const count = { passed: total("pass"), failed: total("fail") + total("cancelled"), skipped: total("skipped") + total("todo") };
    if (code !== 0 && count.failed === 0) count.failed = 1;
    if (code === 0 && count.passed + count.skipped === 0) count.failed = 1;
    results.push({ name: file, ...count, output });
  }
  return results;
}

async function two_at_a_time(jobs) {
  const results = [];
  let next = 0;
  const worker = async () => {
    while (next < jobs.length) {
      const mine = next++;
      results[mine] = await jobs[mine]();
    }
  };
  await Promise.all([worker(), worker()]);
  return results;
}

async function ring_results(ring) {
  if (ring === "unit" || ring.startsWith("unit/")) return c_ring(ring, unit_sources(ring));
  if (ring === "oracles" || ring === "field") return c_ring(ring, list(`tests/${ring}`, /^test_.*\.c$/));
  if (ring === "fuzz") return two_at_a_time(list("tests/fuzz", /^fuzz_.*\.c$/).map((source) => () => fuzz_target(source)));
  if (ALL.includes(ring)) return node_ring(ring);
  console.error(`tests/run: unknown ring ${ring}`);
  process.exit(2);
}

// The rows of a test's output that say what failed; all of it when none does.
function tell(output) {
  const rows = output.split("\n").filter((line) => !/^\s*(ok \d+|1\.\.\d+|TAP version|# Subtest|---|\.\.\.|duration_ms|type:)/.test(line));
  const shown = rows.slice(0, 120).join("\n");
  return rows.length > 120 ? `${shown}\n… ${rows.length - 120} more lines` : shown;
}

const sum = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
for (const ring of rings) {
  const began = Date.now();
  const results = await ring_results(ring);
  const part = { passed: 0, failed: 0, skipped: 0 };
  for (const result of results) {
    for (const key of Object.keys(part)) part[key] += result[key];
    if (result.failed > 0) {
      failures.push(result.name);
      console.log(`--- ${result.name}\n${tell(result.output)}`);
    }
  }
  for (const key of Object.keys(sum)) sum[key] += part[key];
  const why = part.skipped > 0 && !process.env.SIGNALBOX_SHARED && (ring === "oracles" || ring === "field")
    ? " (SIGNALBOX_SHARED is not set)" : "";
  console.log(`${ring}: ${part.passed} passed, ${part.failed} failed, ${part.skipped} skipped${why}, ` +
    `${results.length} programs, ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
if (failures.length > 0) console.log(`failed: ${failures.join(" ")}`);
console.log(`${sum.passed} passed, ${sum.failed} failed, ${sum.skipped} skipped`);
process.exitCode = sum.failed > 0 ? 1 : 0;
