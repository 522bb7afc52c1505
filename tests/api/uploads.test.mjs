// Uploads: raw, multipart and chunked; refused early, in the middle, and cut off.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import net from "node:net";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import zlib from "node:zlib";
import { form, kineto, random, tar, zip } from "./inputs.mjs";
import { exchange, first } from "./raw.mjs";
import { Service, sleep } from "./service.mjs";

const LIMIT = 1000000, DRAIN = 4000000;
let s;
before(async () => { s = await Service.start({ limits: { upload_bytes: LIMIT, drain_bytes: DRAIN, request_bytes: 10000 } }); });
after(() => s.stop());

const sha256 = (data) => createHash("sha256").update(data).digest("hex");

async function ready(answer) {
  assert.equal(answer.status, 201, JSON.stringify(answer.json));
  assert.equal(answer.json.state, "ready");
  return answer.json;
}

test("a raw body becomes a profile", async () => {
  const trace = kineto();
  const p = await ready(await s.upload("my run", trace));
  assert.equal(p.name, "my run");
  assert.equal(p.bytes, trace.length);
  assert.equal(p.sha256, sha256(trace));
});

test("without Prefer the answer is 202 with where to look", async () => {
  const answer = await s.upload("x", kineto(), { headers: { Prefer: "respond-async" } });
  assert.equal(answer.status, 202);
  assert.ok(answer.headers.location);
  assert.equal((await s.get(answer.headers.location)).status, 200);
  assert.equal((await s.settled(answer.json.id)).state, "ready");
});

test("a chunked body", async () => {
  const trace = kineto(500);
  const p = await ready(await s.upload("chunked", Readable.from([trace.subarray(0, 1), trace.subarray(1, 5000), trace.subarray(5000)])));
  assert.equal(p.sha256, sha256(trace));
});

test("gzip, by name of the coding or by its bytes alone", async () => {
  const packed = zlib.gzipSync(kineto());
  const a = await ready(await s.upload("g", packed));
  const b = await ready(await s.upload("g", packed, { headers: { "Content-Encoding": "gzip" } }));
  assert.equal(a.sha256, sha256(packed));
  assert.equal(b.sha256, a.sha256);
});

test("archives", async () => {
  const trace = kineto();
  for (const bytes of [tar([["run/rank0.json", trace]]), zlib.gzipSync(tar([["run/rank0.json", trace]])), zip([["run/rank0.json", trace]])])
    await ready(await s.upload("archive", bytes));
});

test("a form with one file, several files, paths and a name", async () => {
  const trace = kineto();
  const send = (parts, target = "/v1/profiles") => {
    const f = form(parts);
    return s.request("POST", target, { headers: { "Content-Type": f.type, Prefer: "wait=25" }, body: f.body });
  };
  const one = await ready(await send([{ name: "file", filename: "a.json", data: trace }]));
  assert.equal(one.bytes, trace.length);
  assert.equal(one.sha256, sha256(trace));
  const two = await ready(await send([{ name: "path", data: "run/empty.txt" }, { name: "file", filename: "e.txt", data: "" },
    { name: "files", filename: "run/rank0.json", data: trace }, { name: "name", data: "from the form" }]));
  assert.equal(two.name, "from the form");
  assert.equal(two.bytes, trace.length);
  const named = await ready(await send([{ name: "name", data: "no" }, { name: "file", filename: "a.json", data: trace }], "/v1/profiles?name=yes"));
  assert.equal(named.name, "yes");
});

test("forms that are none", async () => {
  const good = form([{ name: "file", filename: "a.json", data: kineto() }]);
  const send = (body, type = good.type) => s.request("POST", "/v1/profiles", { headers: { "Content-Type": type }, body });
  const cases = [
    [good.body.subarray(0, good.body.length - 20), good.type, 400, "truncated_form"],
    [good.body.subarray(0, good.body.length >> 1), good.type, 400, "truncated_form"],
    [form([]).body, good.type, 400, "no_file"],
    [form([{ name: "path", data: "a" }]).body, good.type, 400, "no_file"],
    [form([{ name: "color", data: "red" }, { name: "file", filename: "a", data: "x" }]).body, good.type, 400, "unknown_form_field"],
    [form([{ name: "name", data: "n".repeat(5000) }]).body, good.type, 400, "bad_form_field"],
    ["x", "multipart/form-data", 415, "unsupported_media_type"],
    ["x", "multipart/mixed; boundary=a", 415, "unsupported_media_type"],
  ];
  const before = (await s.profiles()).length;
  for (const [body, type, status, code] of cases) {
    const answer = await send(body, type);
    assert.equal(answer.status, status, `${code}: ${JSON.stringify(answer.json)}`);
    assert.equal(answer.json.code, code);
  }
  assert.equal((await s.profiles()).length, before, "a refused form leaves nothing");
});

test("a form in tiny pieces, and one whose file looks like its boundary", async () => {
  const tricky = Buffer.concat([kineto(), Buffer.from("\r\n--")]);
  const f = form([{ name: "file", filename: "a.json", data: tricky }]);
  const pieces = [];
  for (let i = 0; i < f.body.length; i += 61) pieces.push(f.body.subarray(i, i + 61));
  const answer = await s.request("POST", "/v1/profiles", { headers: { "Content-Type": f.type }, body: Readable.from(pieces) });
  assert.equal(answer.status, 202, JSON.stringify(answer.json));
  assert.equal((await s.settled(answer.json.id)).sha256, sha256(tricky));
});

test("413 before the body when the client waits for it (Expect)", async () => {
  const { text } = await exchange(s, `POST /v1/profiles HTTP/1.1\r\nHost: ${s.authority}\r\nExpect: 100-continue\r\nContent-Length: ${LIMIT + 1}\r\n\r\n`);
  assert.equal(first(text).status, 413);
  assert.ok(!/100 Continue/i.test(text), "not a byte may be asked for");
});

test("413 after the body was read when the client does not wait", async () => {
  for (let i = 0; i < 3; i++) {
    const answer = await s.upload("big", Buffer.alloc(LIMIT + 1));
    assert.equal(answer.status, 413);
  }
});

test("413 for a chunked body that grows past the limit", async () => {
  const answer = await s.upload("big", Readable.from([Buffer.alloc(LIMIT), Buffer.alloc(LIMIT)]));
  assert.equal(answer.status, 413);
});

test("past the drain budget the connection is cut", async () => {
  await assert.rejects(s.upload("endless", Readable.from(Array.from({ length: 30 }, () => Buffer.alloc(LIMIT)))));
  const wide = await s.upload("wide", Buffer.alloc(DRAIN + LIMIT)).catch((e) => e);
  assert.ok(wide instanceof Error || wide.status === 413);
  assert.equal((await s.get("/livez")).status, 200);
});

test("JSON bodies have their own bound and are never compressed", async () => {
  assert.equal((await s.post("/v1/plans", { kind: "x".repeat(20000) })).status, 413);
  const chunked = await s.request("POST", "/v1/plans", { headers: { "Content-Type": "application/json" },
    body: Readable.from([Buffer.alloc(9000, 32), Buffer.alloc(9000, 32)]) });
  assert.equal(chunked.status, 413);
  const packed = await s.request("POST", "/v1/plans", { headers: { "Content-Type": "application/json", "Content-Encoding": "gzip" },
    body: zlib.gzipSync("{}") });
  assert.equal(packed.status, 415);
});

test("clients that leave in the middle leave nothing", async () => {
  const before = (await s.profiles()).length, random01 = random(7);
  await s.get("/livez", { agent: false });
  for (let i = 0; i < 20; i++) {
    const socket = net.connect(s.port, s.host);
    socket.on("error", () => {});
    socket.write(`POST /v1/profiles HTTP/1.1\r\nHost: ${s.authority}\r\nContent-Length: 500000\r\n\r\n`);
    socket.write(Buffer.alloc(Math.floor(random01() * 400000)));
    await sleep(5);
    if (i % 2) socket.destroy();
    else socket.end();
  }
  await sleep(500);
  assert.equal((await s.profiles()).length, before);
});

test("clients that leave while they wait for a result do no harm", async () => {
  const trace = kineto(2000);
  const before = s.fds();
  for (let i = 0; i < 30; i++) {
    const socket = net.connect(s.port, s.host);
    socket.on("error", () => {});
    socket.write(`POST /v1/profiles HTTP/1.1\r\nHost: ${s.authority}\r\nPrefer: wait=20\r\nContent-Length: ${trace.length}\r\n\r\n`);
    socket.write(trace);
    await sleep(10);
    socket.destroy();
  }
  for (const p of await s.profiles()) await s.settled(p.id);
  await sleep(1000);
  assert.ok(s.fds() <= before + 20, `descriptors: ${before} before, ${s.fds()} after`);
});
