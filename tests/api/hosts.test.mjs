// Who may talk to a local service, and on which address it listens.
import assert from "node:assert/strict";
import fs from "node:fs";
import { after, before, test } from "node:test";
import { PROGRAM, run, Service, temporary } from "./service.mjs";

let s;
const unused = temporary(); // the data of services that must not start
before(async () => { s = await Service.start(); });
after(async () => {
  fs.rmSync(unused, { recursive: true, force: true });
  await s.stop();
});

test("hosts that are ours", async () => {
  for (const host of [s.authority, `localhost:${s.port}`, `LOCALHOST:${s.port}`])
    assert.equal((await s.get("/v1/version", { headers: { Host: host } })).status, 200, host);
});

test("hosts that are not", async () => {
  for (const host of ["evil.example", `evil.example:${s.port}`, `127.0.0.1.evil.example:${s.port}`, `localhost.evil.example:${s.port}`, "192.0.2.1"])
    for (const target of ["/v1/version", "/", "/v1/profiles"]) {
      const answer = await s.get(target, { headers: { Host: host }, check: false });
      assert.ok(answer.status === 403, `${host} ${target}: ${answer.status}`);
    }
});

test("origins", async () => {
  const own = await s.get("/v1/profiles", { headers: { Origin: s.url } });
  assert.equal(own.status, 200);
  for (const origin of ["http://evil.example", "null", `http://127.0.0.1:${s.port + 1}`, "http://localhost.evil.example"]) {
    const answer = await s.request("POST", "/v1/plans", { headers: { Origin: origin, "Content-Type": "application/json" }, body: "{}" });
    assert.equal(answer.status, 403, origin);
    assert.equal(answer.headers["access-control-allow-origin"], undefined);
  }
});

test("a foreign upload is refused before its body", async () => {
  const answer = await s.upload("x", "{}", { headers: { Origin: "http://evil.example" } });
  assert.equal(answer.status, 403);
});

test("addresses that are not loopback need --allow-remote", async (t) => {
  for (const listen of ["0.0.0.0:0", "[::]:0", ":0"]) {
    const { code, stdout, stderr } = await run(["serve", "--listen", listen, "--data", unused]);
    assert.equal(code, 2, `${listen}: ${stderr}`);
    assert.equal(stdout, "");
    assert.match(stderr, /--allow-remote/);
  }
  assert.deepEqual(fs.readdirSync(unused), []);
  const remote = await Service.start({ listen: "0.0.0.0:0", args: ["--allow-remote"], t });
  remote.host = "127.0.0.1";
  const answer = await remote.get("/v1/version", { headers: { Host: `signalbox:${remote.port}` } });
  assert.equal(answer.status, 200);
  const foreign = await remote.get("/v1/version", { headers: { Host: `signalbox:${remote.port}`, Origin: "http://evil.example" } });
  assert.equal(foreign.status, 403);
  await remote.stop();
});

test("IPv6 loopback", async (t) => {
  const six = await Service.start({ listen: "[::1]:0", t }).catch((e) => e);
  if (six instanceof Error && /Cannot assign|not supported|unknown|Address family/i.test(six.message)) return t.skip("no IPv6 here");
  assert.match(six.url, /^http:\/\/\[::1\]:\d+$/);
  assert.equal((await six.get("/v1/version")).status, 200);
  await six.stop();
});

test("an address in use is an error of its own", async () => {
  const { code, stderr } = await run(["serve", "--listen", s.authority, "--data", unused]);
  assert.equal(code, 1, PROGRAM);
  assert.match(stderr, /in use/);
});
