// The program's commands: exit statuses, and push against a running service.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { exposed, kineto, tar } from "./inputs.mjs";
import { run, Service, temporary } from "./service.mjs";

let s, dir;
before(async () => {
  s = await Service.start();
  dir = temporary();
  fs.mkdirSync(path.join(dir, "run/sub"), { recursive: true });
  fs.writeFileSync(path.join(dir, "run/sub/rank0.json"), kineto(50));
  fs.writeFileSync(path.join(dir, "plain.json"), kineto(50));
  fs.writeFileSync(path.join(dir, "broken.json"), "{");
  fs.writeFileSync(path.join(dir, "a.tar"), tar([["x/rank0.json", kineto(50)]]));
});
after(async () => {
  fs.rmSync(dir, { recursive: true, force: true });
  await s.stop();
});

test("wrong usage is status 2, with a hint on stderr and nothing on stdout", async () => {
  for (const args of [[], ["nonsense"], ["serve", "--nonsense"], ["serve", "extra"], ["serve", "--listen", "8080"],
    ["serve", "--listen", "127.0.0.1:99999"], ["serve", "--listen", "::1:80"], ["serve", "--limit", "x=1"],
    ["serve", "--limit", "connections=0"], ["serve", "--jobs", "0"], ["serve", "--log", "loud"], ["serve", "--threshold", "overlap_share"],
    ["analyze", "--threshold", "no_such=1", "x"], ["plan"],
    ["plan", "a", "b"], ["plan", "a", "--export", "env", "--schedule"], ["plan", "a", "--export"], ["plan", "a", "--nonsense"], ["push", "file"], ["push", "--server", s.url],
    ["push", "--server", "ftp://x", path.join(dir, "plain.json")], ["analyze"], ["calibrate"], ["version", "x"], ["healthcheck", "x"]]) {
    const { code, stdout, stderr } = await run(args);
    assert.equal(code, 2, `${args}: ${stderr}`);
    assert.equal(stdout, "");
    assert.ok(stderr.length > 0);
  }
});

test("version and help", async () => {
  assert.match((await run(["version"])).stdout, /^signalbox \d+\.\d+\.\d+\n$/);
  const help = await run(["--help"]);
  assert.equal(help.code, 0);
  for (const command of ["serve", "analyze", "plan", "calibrate", "push", "version"]) assert.match(help.stdout, new RegExp(`signalbox ${command}`));
});

test("each command tells its own usage", async () => {
  for (const command of ["serve", "analyze", "plan", "calibrate", "push", "version", "healthcheck"])
    for (const flag of ["--help", "-h"]) {
      const help = await run([command, flag]);
      assert.equal(help.code, 0, help.stderr);
      assert.match(help.stdout, new RegExp(`^usage: signalbox ${command}\\b.*\n\n[A-Z]`));
      assert.match(help.stdout, /\nExit status: 0 .*2\s+wrong\s+usage\.\n$/s);
      for (const line of help.stdout.split("\n").slice(1)) assert.ok(line.length <= 80, line);
      assert.equal((await run(["help", command])).stdout, help.stdout);
    }
  assert.equal((await run(["serve", "--listen", "127.0.0.1:0", "--help"])).code, 0);
});

// Each meaning is a sentence of its own beside the name: no two alike, none that goes on from the one before.
test("analyze and serve list what can be set", async () => {
  const help = (await run(["analyze", "--help"])).stdout.replace(/\n {26}/g, " ");
  const { items } = (await s.get("/v1/thresholds")).json;
  for (const t of items) {
    assert.ok(help.includes(`\n  ${t.name}=`) && help.includes(t.meaning), t.name);
    assert.match(t.meaning, /^(?!and |or |if )[a-z].{20}/i, t.name);
  }
  assert.equal(new Set(items.map((t) => t.meaning)).size, items.length);
  assert.match((await run(["serve", "--help"])).stdout, /\n  upload_bytes +of an upload .*\(default\s+17179869184\)/s);
});

test("serve names the argument that it does not know", async () => {
  for (const [args, named] of [[["--nonsense"], /"--nonsense"/], [["--allow-remote", "--data"], /--data needs a value/], [["-xy"], /"-xy"/],
    [["--limit", "x=1"], /upload_bytes.* request_threads/]]) assert.match((await run(["serve", ...args])).stderr, named);
});

test("healthcheck", async () => {
  assert.equal((await run(["healthcheck", "--server", s.url])).code, 0);
  assert.equal((await run(["healthcheck", "--server", `${s.url}/`])).code, 0);
  const down = await run(["healthcheck", "--server", "http://127.0.0.1:1"]);
  assert.equal(down.code, 1);
  assert.ok(down.stderr.length > 0);
});

test("a source that tells little does not look like a healthy job", async () => {
  const queue = path.join(dir, "device_queue_profiling_1.txt");
  fs.writeFileSync(queue, "0 1 1 4 10\n0 2 1 4 10\n1 64 1 0 10\n1 70 1 1 11\n");
  const { stdout, stderr } = await run(["analyze", queue]);
  const open = JSON.parse((await run(["analyze", "--json", queue])).stdout).analysis.not_evaluated.length;
  assert.ok(open > 0);
  assert.match(stdout, new RegExp(`^Verdict: no bottleneck found .*\n  ${open} causes could not be judged`, "m"), stderr);
});

test("push a file, a directory and an archive", async () => {
  for (const what of ["plain.json", "run", "a.tar"]) {
    const quick = await run(["push", "--server", s.url, path.join(dir, what)]);
    assert.equal(quick.code, 0, quick.stderr);
    const id = /^profile ([0-9a-f-]{36})\n$/.exec(quick.stdout)?.[1];
    assert.ok(id, quick.stdout);
    const waited = await run(["push", "--server", s.url, path.join(dir, what), "--name", `räk & ${what}`, "--wait"]);
    assert.equal(waited.code, 0, waited.stderr);
    assert.match(waited.stdout, /^Verdict: \w/m);
    const profile = await s.settled(/profile (\S+)/.exec(waited.stdout)[1]);
    assert.equal(profile.name, `räk & ${what}`);
    assert.equal(profile.state, "ready");
  }
});

test("push through a proxy setting still reaches loopback", async () => {
  const env = { http_proxy: "http://127.0.0.1:1", all_proxy: "http://127.0.0.1:1" };
  assert.equal((await run(["push", "--server", s.url, path.join(dir, "plain.json")], { env })).code, 0);
});

test("push tells why it failed", async () => {
  const bad = await run(["push", "--server", s.url, path.join(dir, "broken.json"), "--wait"]);
  assert.equal(bad.code, 1, bad.stdout);
  assert.match(bad.stderr, /broken\.json/);
  const missing = await run(["push", "--server", s.url, path.join(dir, "missing.json")]);
  assert.equal(missing.code, 1);
  const down = await run(["push", "--server", "http://127.0.0.1:1", path.join(dir, "plain.json")]);
  assert.equal(down.code, 1);
});

test("plan prints what the service answers", async () => {
  const kinds = (await s.get("/v1/plan-kinds")).json.items.map((k) => k.kind);
  assert.ok(kinds.includes("estimate"));
  const problem = { kind: "estimate",
    model: { layers: 24, hidden: 2048, heads: 16, ffn_hidden: 8192, vocab: 51200, seq_len: 2048 },
    cluster: { nodes: 1, devices_per_node: 8,
      device: { name: "d", peak_flops: 3.12e14, memory_bytes: 8.5e10, memory_bandwidth: 2e12 },
      links: [{ scope: "node", bytes_per_second: 3e11, latency_seconds: 1e-6 }] },
    batch: { global_sequences: 64, micro: 1 }, strategy: { dp: 8 } };
  const served = await s.post("/v1/plans", problem);
  assert.equal(served.status, 201, String(served.body));
  const same = ({ id, created_at, quality, ...rest }) => rest;
  for (const [args, input] of [[["plan", "-"], JSON.stringify(problem)]]) {
    const printed = await run(args, { input });
    assert.equal(printed.code, 0, printed.stderr);
    const plan = JSON.parse(printed.stdout);
    assert.deepEqual(Object.keys(plan).sort(), Object.keys(served.json).sort());
    assert.deepEqual(same(plan), same(served.json));
  }
  const file = path.join(dir, "problem.json");
  fs.writeFileSync(file, JSON.stringify(problem));
  assert.equal((await run(["plan", file])).code, 0);
});

test("plan tells why it failed", async () => {
  for (const [input, what] of [["{", /line 1/], ['{"kind":"nonsense"}', /kind/], ["", /./], ["[]", /./]]) {
    const bad = await run(["plan", "-"], { input });
    assert.equal(bad.code, 1, bad.stdout);
    assert.equal(bad.stdout, "");
    assert.match(bad.stderr, what);
  }
  assert.equal((await run(["plan", path.join(dir, "missing.json")])).code, 1);
});

test("a limit of findings is set by who runs the program, and told", async () => {
  const limit = ({ items }, name) => items.find((t) => t.name === name);
  const codes = ({ findings }) => findings.map((f) => f.code);
  const file = path.join(dir, "exposed.json"), args = ["--threshold", "unexplained_share=0.9"];
  const strict = await Service.start({ args });
  try {
    for (const [service, value, origin] of [[s, 0.2, "default"], [strict, 0.9, "configured"]]) {
      const { meaning, ...rest } = limit((await service.get("/v1/thresholds")).json, "unexplained_share");
      assert.deepEqual(rest, { name: "unexplained_share", value, unit: "share", origin });
      assert.match(meaning, /communication/);
    }
    // 70 of 100 us are not explained
    for (const [service, found] of [[s, true], [strict, false]]) {
      const { id } = (await service.upload("exposed", exposed())).json;
      assert.equal(codes((await service.get(`/v1/profiles/${id}/analysis`)).json).includes("unexplained"), found);
    }
  } finally { await strict.stop(); }
  fs.writeFileSync(file, exposed());
  for (const [more, found] of [[[], true], [args, false]])
    assert.equal(codes(JSON.parse((await run(["analyze", "--json", ...more, file])).stdout).analysis).includes("unexplained"), found);
});
