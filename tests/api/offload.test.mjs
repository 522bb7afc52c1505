// Offload in the kind estimate: what is answered, what is refused, that none costs as before.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const HOST = { host_memory_bytes: 1e12, host_link_bytes_per_second: 2e10 };
const file = join(mkdtempSync(join(tmpdir(), "offload-")), "request.json");
const ask = (host, strategy, ...more) => {
  const request = { kind: "estimate", model: "gpt3-175b", batch: { global_sequences: 64 }, strategy,
    cluster: { nodes: 8, devices_per_node: 8, device: "a100-80g", ...host } };
  writeFileSync(file, JSON.stringify(request));
  const run = spawnSync(process.env.SIGNALBOX, ["plan", file, ...more], { encoding: "utf8" });
  return { status: run.status, text: run.stdout + run.stderr, body: run.status === 0 && more.length === 0 ? JSON.parse(run.stdout) : null };
};
const PLAN = { dp: 1, tp: 8, pp: 8, sequence_parallel: true };
const sum = (o) => Object.values(o).reduce((a, b) => a + b, 0);

test("what goes to the host leaves the device, and its seconds are told", () => {
  const kept = ask(HOST, PLAN).body, gone = ask(HOST, { ...PLAN, offload: { optimizer: 0.5 } }).body;
  assert.equal(kept.solution.offload, "none");
  assert.equal(kept.predicted.breakdown.offload_seconds, 0);
  assert.equal(kept.predicted.host_memory_bytes, 0);
  assert.deepEqual(gone.solution.offload, { weights: 0, gradients: 0, optimizer: 0.5, activations: 0 });
  // half of the states, of each of the node's eight devices
  assert.ok(Math.abs(gone.predicted.memory.optimizer - kept.predicted.memory.optimizer / 2) <= 1);
  assert.ok(Math.abs(gone.predicted.host_memory_bytes - 4 * kept.predicted.memory.optimizer) <= 8);
  assert.ok(gone.predicted.breakdown.offload_seconds > 0);
  assert.ok(Math.abs(sum(gone.predicted.breakdown) - gone.predicted.step_seconds) < 1e-9 * gone.predicted.step_seconds);
  assert.ok(gone.warnings.some((w) => w.code === "device_updates"));
});

test("what rests on assumed rates of a preset's host says so, once, and nothing else does", () => {
  const assumed = (cluster, offload, more) => {
    const request = { kind: "estimate", model: "llama3-8b", batch: { global_sequences: 64 }, strategy: { dp: 8, zero: 1, offload, ...more }, cluster };
    writeFileSync(file, JSON.stringify(request));
    const run = spawnSync(process.env.SIGNALBOX, ["plan", file], { encoding: "utf8" });
    assert.equal(run.status, 0, run.stderr);
    return JSON.parse(run.stdout).warnings.filter((w) => w.code === "host_assumed").length;
  };
  assert.equal(assumed("dgx-h100", { optimizer: 1 }), 1);
  assert.equal(assumed("dgx-h100", "none"), 0);
  assert.equal(assumed({ preset: "dgx-h100", nodes: 2 }, { activations: 0.5 }), 1);
  // Mist measured the link, and nothing is said of the memory
  assert.equal(assumed("l4-8", { activations: 0.5 }), 0);
  const own = { host_memory_bytes: 2e12, host_link_bytes_per_second: 4e10, host_memory_bandwidth: 3e11 };
  const links = [{ scope: "node", bytes_per_second: 4.5e11 }];
  assert.equal(assumed({ name: "dgx-h100", nodes: 1, devices_per_node: 8, device: "h100-80g", links, ...own }, { optimizer: 1 }), 0);
});

test("an unknown host is refused by its member; a share out of range too", () => {
  for (const member of Object.keys(HOST)) {
    const refused = ask({ ...HOST, [member]: undefined }, { ...PLAN, offload: { weights: 1 } });
    assert.notEqual(refused.status, 0);
    assert.match(refused.text, new RegExp(`/cluster/${member}`));
  }
  assert.match(ask(HOST, { ...PLAN, offload: { weights: 1.5 } }).text, /\/strategy\/offload\/weights/);
  const small = ask({ ...HOST, host_memory_bytes: 1e9 }, { ...PLAN, offload: { optimizer: 1 } }).body;
  assert.equal(small.predicted.fits, false);
  assert.ok(small.warnings.some((w) => w.code === "host_does_not_fit"));
});

test("an export says it, or tells why the launcher cannot", () => {
  const says = (offload, format) => ask(HOST, { ...PLAN, offload }, "--export", format);
  assert.match(says({ optimizer: 0.5 }, "megatron").text, /^--optimizer-cpu-offload\n--optimizer-offload-fraction 0.5$/m);
  assert.match(says({ optimizer: 1 }, "deepspeed").text, /"offload_optimizer": \{/);
  const refused = says({ weights: 0.5 }, "megatron");
  assert.notEqual(refused.status, 0);
  // a searched plan offloads where nobody forbade it: the refusal says how to forbid it
  assert.match(refused.text, /solution\/offload.*keeps weights.*"constraints": \{"offload": "none"\}/);
});
