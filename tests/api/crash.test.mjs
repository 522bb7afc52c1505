// kill -9 and graceful stops: what was acknowledged is there and whole, and nothing else is.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { kineto, random, seedOf } from "./inputs.mjs";
import { Service, sleep, temporary } from "./service.mjs";

const sha256 = (data) => createHash("sha256").update(data).digest("hex");

// Sends `bytes` in pieces, with pauses, so that a kill finds it at any stage.
function send(service, bytes, pause) {
  async function* pieces() {
    for (let i = 0; i < bytes.length; i += 65536) {
      yield bytes.subarray(i, i + 65536);
      if (pause) await sleep(pause);
    }
  }
  return service.request("POST", "/v1/profiles?name=crash", { agent: false, check: false, body: Readable.from(pieces()) });
}

// Every acknowledged profile whole, every visible one whole, and no file without a row.
async function examine(t, dir, acknowledged, sums) {
  const s = await Service.start({ dir, t });
  const all = await s.profiles();
  const visible = new Map(all.map((p) => [p.id, p]));
  for (const id of acknowledged) assert.ok(visible.has(id), `the acknowledged profile ${id} is gone`);
  for (const p of all) {
    assert.ok(sums.has(p.sha256), `profile ${p.id} is half there`);
    const settled = await s.settled(p.id);
    assert.equal(settled.state, "ready", JSON.stringify(settled.error));
  }
  const folders = fs.existsSync(path.join(dir, "profiles")) ? fs.readdirSync(path.join(dir, "profiles")) : [];
  assert.deepEqual(folders.sort(), [...visible.keys()].sort());
  for (const p of all)
    assert.equal(sha256(fs.readFileSync(path.join(dir, "profiles", p.id, "upload"))), p.sha256);
  await s.stop();
  return all.length;
}

test("kill -9 during 20 uploads at random moments", async (t) => {
  const seed = seedOf(), rand = random(seed), dir = temporary(), sums = new Set(), acknowledged = [];
  t.diagnostic(`seed ${seed} (SEED=${seed} repeats it)`);
  const traces = Array.from({ length: 20 }, (_, i) => kineto(1 + Math.floor(rand() * 6000), `kernel${i}`));
  traces.forEach((trace) => sums.add(sha256(trace)));
  let kills = 0, visible = 0;
  try {
    for (let next = 0; next < traces.length; ) {
      const s = await Service.start({ dir, t });
      const batch = traces.slice(next, next + 1 + Math.floor(rand() * 4));
      next += batch.length;
      const sent = batch.map((trace) => send(s, trace, Math.floor(rand() * 6)).then(
        (a) => { if (a.status === 202 || a.status === 201) acknowledged.push(a.json.id); }, () => {}));
      await sleep(rand() * 150);
      await s.signal("SIGKILL");
      await Promise.all(sent);
      s.agent.destroy();
      kills++;
      visible = await examine(t, dir, acknowledged, sums);
    }
    t.diagnostic(`${kills} kills, ${acknowledged.length} acknowledged, ${visible} visible`);
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
});

test("a graceful stop under load loses no accepted upload", async (t) => {
  const dir = temporary(), sums = new Set(), acknowledged = [];
  try {
    const s = await Service.start({ dir, t });
    let refused = 0, cut = 0;
    const load = Array.from({ length: 8 }, async (_, i) => {
      for (let n = 0; ; n++) {
        const trace = kineto(500 + 100 * i + n, `k${i}`);
        sums.add(sha256(trace));
        const answer = await send(s, trace, 1).catch(() => null);
        if (!answer) { cut++; return; }
        if (answer.status === 202 || answer.status === 201) acknowledged.push(answer.json.id);
        else { refused++; return; }
      }
    });
    await sleep(1000);
    const end = await s.signal("SIGTERM");
    await Promise.all(load);
    assert.deepEqual(end, { code: 0, signal: null }, s.stderr.slice(-2000));
    assert.ok(acknowledged.length > 0);
    const visible = await examine(t, dir, acknowledged, sums);
    t.diagnostic(`${acknowledged.length} acknowledged, ${visible} visible, ${refused} refused, ${cut} not connected`);
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
});

test("an upload under way at the stop is finished first", async (t) => {
  const dir = temporary();
  try {
    const s = await Service.start({ dir, t }), trace = kineto(3000);
    const sent = send(s, trace, 100);
    await sleep(300);
    const ended = s.signal("SIGTERM");
    const answer = await sent;
    assert.equal(answer.status, 202);
    assert.equal(answer.headers.connection, "close");
    assert.equal((await ended).code, 0);
    await examine(t, dir, [answer.json.id], new Set([sha256(trace)]));
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
});

test("a request that waits for its result is answered at the stop", async (t) => {
  const s = await Service.start({ t });
  const sent = s.upload("wait", kineto(20000), { check: false, agent: false });
  await sleep(300);
  const ended = s.signal("SIGTERM");
  const answer = await sent;
  assert.ok([201, 202].includes(answer.status), `status ${answer.status}`);
  assert.equal((await ended).code, 0, s.stderr.slice(-2000));
  s.clean();
});

test("a second signal ends the service at once", async (t) => {
  const s = await Service.start({ t });
  const socket = net.connect(s.port, s.host);
  socket.on("error", () => {});
  socket.write(`POST /v1/profiles HTTP/1.1\r\nHost: ${s.authority}\r\nContent-Length: 1000000\r\n\r\nabc`);
  await sleep(300);
  s.child.kill("SIGTERM");
  await sleep(1000);
  assert.equal(s.child.exitCode, null, "the first signal waits for the upload");
  const begun = Date.now(), end = await s.signal("SIGTERM");
  assert.equal(end.code, 143);
  assert.ok(Date.now() - begun < 5000);
  socket.destroy();
  s.clean();
});

test("one data directory, one service", async (t) => {
  const s = await Service.start({ t });
  await assert.rejects(Service.start({ dir: s.dir, t }));
  assert.equal((await s.get("/livez")).status, 200);
  await s.stop();
});
