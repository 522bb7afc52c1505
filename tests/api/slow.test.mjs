// Slow and silent clients: cut in the end, and never in the way of others.
import assert from "node:assert/strict";
import net from "node:net";
import { after, before, test } from "node:test";
import { exchange } from "./raw.mjs";
import { Service, sleep } from "./service.mjs";

let s;
before(async () => {
  s = await Service.start({ limits: { header_seconds: 2, idle_seconds: 3, stall_seconds: 2, stall_bytes_per_second: 65536 } });
});
after(() => s.stop());

// Sends the pieces, then one byte every 250 ms until the other side closes; the time that took in ms.
async function trickle(start, byte, most = 40000) {
  const begun = Date.now();
  const pieces = [start];
  for (let i = 0; i < most / 250; i++) pieces.push(250, byte);
  const { closed } = await exchange(s, pieces, { timeout: most });
  assert.ok(closed, "the service must cut it");
  return Date.now() - begun;
}

test("a header that never ends", async () => {
  assert.ok(await trickle(`GET /livez HTTP/1.1\r\nHost: ${s.authority}\r\nX: `, "a") >= 1500);
});

test("a request line that never ends", async () => {
  await trickle("GET /", "a");
});

test("a second request on a kept connection that never ends", async () => {
  await trickle(`GET /livez HTTP/1.1\r\nHost: ${s.authority}\r\n\r\nGET /livez HTTP/1.1\r\nX: `, "a");
});

test("an upload of a few bytes a second", async () => {
  await trickle(`POST /v1/profiles HTTP/1.1\r\nHost: ${s.authority}\r\nContent-Length: 100000\r\n\r\n`, "a");
});

test("a JSON body of a few bytes a second", async () => {
  await trickle(`POST /v1/plans HTTP/1.1\r\nHost: ${s.authority}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n`, " ");
});

test("a connection without a word", async () => {
  const { closed } = await exchange(s, [""], { timeout: 40000 });
  assert.ok(closed);
});

test("an upload that is slow but fast enough goes through", async () => {
  const size = 1200000, piece = 30000, pieces = [];
  for (let i = 0; i < size / piece; i++) pieces.push(" ".repeat(piece), 100); // 300 kB/s for 4 s
  const { text } = await exchange(s, [`POST /v1/profiles HTTP/1.1\r\nHost: ${s.authority}\r\nConnection: close\r\nContent-Length: ${size}\r\n\r\n`, ...pieces]);
  assert.match(text, /^HTTP\/1.1 202 /);
});

test("200 slow clients do not slow a probe down", async () => {
  const sockets = Array.from({ length: 200 }, () => {
    const socket = net.connect(s.port, s.host);
    socket.on("error", () => {});
    socket.write(`GET /livez HTTP/1.1\r\nHost: ${s.authority}\r\nX: `);
    return socket;
  });
  await sleep(200);
  let worst = 0;
  for (let i = 0; i < 20; i++) {
    const begun = Date.now();
    assert.equal((await s.get("/livez", { agent: false })).status, 200);
    worst = Math.max(worst, Date.now() - begun);
  }
  for (const socket of sockets) socket.destroy();
  assert.ok(worst < 5000, `slowest probe: ${worst} ms`);
});

test("constant suspending starves nobody", async () => {
  // libmicrohttpd 1.0.3 mended a loop in which ready connections could be skipped for ever
  const end = Date.now() + 4000;
  let worst = 0, probes = 0, plans = 0;
  const plan = async () => {
    while (Date.now() < end) {
      await s.post("/v1/plans", {}, { check: false });
      plans++;
    }
  };
  const probe = async () => {
    while (Date.now() < end) {
      const begun = Date.now();
      await s.get("/livez");
      worst = Math.max(worst, Date.now() - begun);
      probes++;
    }
  };
  await Promise.all([...Array.from({ length: 32 }, plan), ...Array.from({ length: 8 }, probe)]);
  assert.ok(probes > 0 && plans > 0);
  assert.ok(worst < 5000, `slowest of ${probes} probes beside ${plans} plans: ${worst} ms`);
});
