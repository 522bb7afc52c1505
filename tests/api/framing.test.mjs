// What libmicrohttpd lets through and the service must not (one test a row of the list of its traps).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service } from "./service.mjs";
import { exchange, first, statuses, whole } from "./raw.mjs";

let s;
before(async () => { s = await Service.start(); });
after(() => s.stop());

const request = (line, headers = [], body = "") =>
  `${line} HTTP/1.1\r\n${[`Host: ${s.authority}`, ...headers].map((h) => `${h}\r\n`).join("")}\r\n${body}`;

async function refused(text, code, status = 400) {
  const { text: back, closed } = await exchange(s, text);
  const answer = first(back);
  assert.equal(answer.status, status, back);
  assert.equal(answer.headers["content-type"], "application/problem+json");
  const problem = JSON.parse(answer.body);
  assert.equal(problem.code, code);
  assert.equal(problem.status, status);
  assert.equal(statuses(back).length, 1, "nothing may be taken for a second request");
  assert.ok(closed, "the connection must end");
}

test("Content-Length beside Transfer-Encoding", () =>
  refused(request("POST /v1/plans", ["Content-Length: 4", "Transfer-Encoding: chunked"], "0\r\n\r\nGET /livez HTTP/1.1\r\n\r\n"),
    "ambiguous_length"));
test("two different Content-Length", () =>
  refused(request("POST /v1/plans", ["Content-Length: 2", "Content-Length: 4"], "{}{}"), "repeated_content_length"));
test("two equal Content-Length", () =>
  refused(request("POST /v1/plans", ["Content-Length: 2", "Content-Length: 2"], "{}"), "repeated_content_length"));
for (const coding of ["gzip, chunked", "gzip", "chunked, chunked", "identity", "xchunked"])
  test(`Transfer-Encoding: ${coding}`, () =>
    refused(request("POST /v1/plans", [`Transfer-Encoding: ${coding}`], "0\r\n\r\n"), "unknown_transfer_encoding"));

for (const length of ["0x10", "-1", "1 1", "99999999999999999999999"])
  test(`Content-Length: ${length}`, async () => {
    // the library itself refuses most of these, and writes its answer's head twice
    const { text, closed } = await exchange(s, request("POST /v1/plans", [`Content-Length: ${length}`], "{}"));
    assert.ok([400, 413].includes(statuses(text)[0]), text);
    assert.ok(closed);
  });

test("no Host", () => refused("GET /livez HTTP/1.1\r\n\r\n", "missing_host"));
test("an empty Host", () => refused("GET /livez HTTP/1.1\r\nHost:\r\n\r\n", "missing_host"));
test("two Hosts", () => refused(request("GET /livez", [`Host: ${s.authority}`]), "repeated_host"));
test("a blank before the colon", async () => {
  const { text } = await exchange(s, `GET /livez HTTP/1.1\r\nHost : ${s.authority}\r\nConnection: close\r\n\r\n`);
  assert.equal(first(text).status, 400, text);
});

test("bare LF line ends are taken", async () => {
  const { text } = await exchange(s, `GET /livez HTTP/1.1\nHost: ${s.authority}\nConnection: close\n\n`);
  assert.equal(first(text).status, 200, text);
});

for (const target of ["/livez%00x", "/livez%0d%0aX:y", "/a\\b", "/a%5cb", "//livez", "/v1//plans", "/v1/../livez",
  "/./livez", "/v1/%2e%2e/livez", "/v1%2fplans", "/v1%2Fplans", "/%zz", "/livez#x", "livez", "*", "/livez?a=%00"])
  test(`target ${target}`, () => refused(request(`GET ${target}`), "bad_target"));

test("an absolute-form target is the same resource", async () => {
  const { text } = await exchange(s, request(`GET http://${s.authority}/livez`, ["Connection: close"]));
  assert.equal(first(text).status, 200, text);
});
test("an absolute-form target of another host", () => refused(request("GET http://evil.example/livez"), "host_mismatch"));

test("HEAD has the headers of GET and no body", async () => {
  const get = first((await exchange(s, request("GET /v1/version", ["Connection: close"]))).text);
  const head = first((await exchange(s, request("HEAD /v1/version", ["Connection: close"]))).text);
  assert.equal(head.status, 200);
  assert.equal(head.body, "");
  assert.equal(head.headers["content-length"], get.headers["content-length"]);
  assert.equal(head.headers["content-type"], get.headers["content-type"]);
  assert.equal(head.headers.etag, get.headers.etag);
});

test("headers and targets that are too long", async () => {
  const long = await exchange(s, request("GET /livez", [`X-Long: ${"a".repeat(200000)}`]));
  assert.ok([431, 413].includes(statuses(long.text)[0]), long.text.slice(0, 200));
  const target = await exchange(s, request(`GET /${"a".repeat(140000)}`));
  assert.equal(statuses(target.text)[0], 414, target.text.slice(0, 200));
  await refused(request(`GET /${"a".repeat(9000)}`), "target_too_long", 414);
  await refused(request("GET /livez", Array.from({ length: 150 }, (_, i) => `X-${i}: y`)), "too_many_headers", 431);
});

test("pipelined requests are answered in order", async () => {
  const { text } = await exchange(s, request("GET /livez", ["X-Request-Id: one"]) + request("GET /v1/nothing", ["X-Request-Id: two"]) +
    request("GET /livez", ["X-Request-Id: three", "Connection: close"]));
  assert.deepEqual(statuses(text), [200, 404, 200]);
  assert.deepEqual([...text.matchAll(/^X-Request-Id: (.*)\r$/gm)].map((m) => m[1]), ["one", "two", "three"]);
});

test("request ids are taken over when they are plain, and made otherwise", async () => {
  const given = await s.get("/livez", { headers: { "X-Request-Id": "run-7.A_b" } });
  assert.equal(given.headers["x-request-id"], "run-7.A_b");
  const made = await s.get("/livez", { headers: { "X-Request-Id": "a b<c>" } });
  assert.match(made.headers["x-request-id"], /^[0-9a-f]{32}$/);
  assert.equal((await s.get("/livez")).headers["x-content-type-options"], "nosniff");
});

test("a body where none belongs", async () => {
  const answer = await s.request("GET", "/livez", { headers: { "Content-Length": "2" }, body: "{}", check: false });
  assert.equal(answer.status, 400);
});

test("an unknown expectation", () => refused(request("POST /v1/plans", ["Expect: fireworks", "Content-Length: 2"], "{}"), "unknown_expectation", 417));

test("random bytes do no harm", async () => {
  const bytes = (n) => Array.from({ length: n }, (_, i) => String.fromCharCode((i * 7919 + n * 31) % 256)).join("");
  for (let n = 1; n < 40; n++) await exchange(s, [bytes(n * 17) + "\r\n\r\n"], { timeout: 300 });
  assert.equal((await s.get("/livez")).status, 200);
});

test("answers to a client that reads late come whole", async () => {
  const { text } = await exchange(s, [request("GET /openapi.json"), 500], { enough: whole });
  assert.equal(first(text).status, 200);
  JSON.parse(Buffer.from(first(text).body, "latin1").toString("utf8"));
});
