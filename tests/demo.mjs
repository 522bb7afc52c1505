// make demo: starts the service on a free port, gives it a made-up job with a fault, shows what it finds and a
// plan, and leaves it running.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, openSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const build = process.env.BUILD ?? "build";
const program = resolve(build, "signalbox");
const place = mkdtempSync(join(tmpdir(), "signalbox-demo-"));
const job = join(place, "job");

// A dense model that exists nowhere, on two nodes of eight devices.
const problem = {
  kind: "strategy",
  model: { layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn_hidden: 14336, gated_ffn: true, vocab: 128256, seq_len: 8192 },
  cluster: {
    nodes: 2, devices_per_node: 8, device: "h100-80g",
    links: [{ scope: "node", bytes_per_second: 450e9 }, { scope: "cluster", bytes_per_second: 50e9 }],
  },
  batch: { global_sequences: 256 },
  limit: 3,
};

const title = (text) => console.log(`\n== ${text}`);
const run = (command, ...args) => execFileSync(command, args, { stdio: ["ignore", "inherit", "inherit"] });
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function start() {
  const out = join(place, "stdout");
  const child = spawn(program, ["serve", "--listen", "127.0.0.1:0", "--data", join(place, "data")], {
    detached: true,
    stdio: ["ignore", openSync(out, "w"), openSync(join(place, "log"), "w")],
  });
  child.unref();
  for (let i = 0; i < 300; i++) {
    const found = /listening on (http:\/\/\S+)/.exec(readFileSync(out, "utf8"));
    if (found) return { url: found[1], pid: child.pid };
    if (child.exitCode !== null) break;
    await sleep(50);
  }
  throw new Error(`the service does not start:\n${readFileSync(join(place, "log"), "utf8")}`);
}

async function plan(url) {
  const answer = await fetch(`${url}/v1/plans`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Prefer: "wait=25" },
    body: JSON.stringify(problem),
  });
  const body = await answer.json();
  if (answer.status >= 300 || !body.solution) throw new Error(`the plan failed with ${answer.status}: ${JSON.stringify(body)}`);
  const { dp, tp, cp, pp, vpp, ep, zero, micro_batch, micro_batches, recompute } = body.solution;
  const gib = (bytes) => (bytes / 2 ** 30).toFixed(1);
  console.log(`best of ${body.quality.candidates} candidates in ${(body.quality.search_seconds * 1000).toFixed(1)} ms:`);
  console.log(`  ${JSON.stringify({ dp, tp, cp, pp, vpp, ep, zero, micro_batch, micro_batches, recompute })}`);
  console.log(`  a step of ${body.predicted.step_seconds.toFixed(3)} s, MFU ${(100 * body.predicted.mfu).toFixed(1)}%, ` +
    `${gib(body.predicted.memory_bytes)} GiB a device`);
  for (const other of body.alternatives.slice(0, 3)) {
    const s = other.solution;
    console.log(`  next: dp ${s.dp} tp ${s.tp} cp ${s.cp} pp ${s.pp} zero ${s.zero}, recompute ${s.recompute}: ${other.reason}`);
  }
  const flags = await fetch(`${url}/v1/plans/${body.id}/export?format=megatron`);
  if (flags.status !== 200) throw new Error(`the export failed with ${flags.status}`);
  console.log(`flags for Megatron-LM:\n${(await flags.text()).trimEnd()}`);
}

const { url, pid } = await start();
try {
  title("a made-up job: 4 Ascend ranks, 3 steps, communication that hides under no computing");
  run(resolve(build, "generate"), "ascend", "--ranks", "4", "--steps", "3", "--fault", "parallel.poor_overlap", job);
  title("breakdown and advice (signalbox analyze)");
  run(program, "analyze", job);
  title("the same job sent to the service (signalbox push)");
  run(program, "push", "--server", url, "--name", "demo", "--wait", job);
  title("a plan for an 8B model on 16 H100");
  await plan(url);
} catch (error) {
  process.kill(pid, "SIGTERM");
  console.error(error.message);
  process.exit(1);
}
title("ready");
console.log(`the page:  ${url}/`);
console.log(`stop it:   kill ${pid}`);
console.log(`its files: ${place} (state, log, the made-up job; delete them when you are done)`);
