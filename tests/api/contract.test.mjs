// Every call of the contract: each answer is held against /openapi.json by the helper (schema.mjs), with
// its status, type and shape.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import zlib from "node:zlib";
import { exposed, kineto } from "./inputs.mjs";
import { errorsOf } from "./schema.mjs";
import { run, Service } from "./service.mjs";

let s, profile;
const UNKNOWN = "00000000-0000-7000-8000-000000000000";
const PRINTED = ["breakdown", "operators", "communication", "analysis", "advice"]; // by analyze --json, too
const PARTS = [...PRINTED, "input-pipeline", "layers", "memory"];
const PROBLEM = {
  kind: "estimate",
  model: { layers: 24, hidden: 2048, heads: 16, ffn_hidden: 8192, vocab: 51200, seq_len: 2048 },
  cluster: { nodes: 1, devices_per_node: 8,
    device: { name: "d", peak_flops: 3.12e14, memory_bytes: 8.5e10, memory_bandwidth: 2e12 },
    links: [{ scope: "node", bytes_per_second: 3e11, latency_seconds: 1e-6 }] },
  batch: { global_sequences: 64, micro: 1 }, strategy: { dp: 8 },
};

before(async () => {
  s = await Service.start();
  profile = (await s.upload("contract", kineto(100))).json;
});
after(() => s.stop());

test("the checker itself finds what is wrong", () => {
  const root = { $defs: { n: { type: ["integer", "null"], minimum: 0 } } };
  const schema = { type: "object", required: ["a"], properties: { a: { $ref: "#/$defs/n" }, b: { type: "array", items: { enum: ["x"] } } },
    additionalProperties: false };
  assert.equal(errorsOf(root, schema, { a: 1, b: ["x"] }).length, 0);
  assert.equal(errorsOf(root, schema, { a: null }).length, 0);
  for (const wrong of [{}, { a: -1 }, { a: 1.5 }, { a: "1" }, { a: 1, c: 2 }, { a: 1, b: ["y"] }, [], null])
    assert.ok(errorsOf(root, schema, wrong).length > 0, JSON.stringify(wrong));
  assert.throws(() => errorsOf(root, { invented: 1 }, 1));
});

test("every path of the contract exists, with its methods", async () => {
  const api = (await s.get("/openapi.json")).json;
  assert.match(api.openapi, /^3\.1\./);
  let operations = 0;
  for (const [template, methods] of Object.entries(api.paths)) {
    const target = template.replace(/\{id\}/g, UNKNOWN).replace(/\{[a-z]+\}/g, "none");
    for (const method of ["GET", "PUT", "POST", "DELETE"]) {
      const known = method.toLowerCase() in methods;
      const answer = await s.request(method, target, { headers: method === "POST" || method === "PUT" ? { "Content-Type": "application/json" } : {},
        body: method === "POST" || method === "PUT" ? "" : undefined, check: known });
      assert.equal(answer.status === 405, !known, `${method} ${template}: ${answer.status}`);
      if (!known) assert.ok(answer.headers.allow, `405 of ${template} tells what is allowed`);
      operations += known;
    }
  }
  assert.ok(operations >= 25, `${operations} operations`);
});

test("a finding without a cause", async () => {
  const { id } = (await s.upload("unexplained", exposed())).json;
  const { findings } = (await s.get(`/v1/profiles/${id}/analysis`)).json;
  assert.deepEqual(findings.filter((f) => f.severity !== "info").map((f) => [f.code, f.cause, f.severity]),
    [["parallel.poor_overlap", "poor_overlap", "warning"], ["unexplained", null, "critical"]]);
});

test("a profile and its results", async () => {
  assert.equal((await s.get("/v1/profiles")).status, 200);
  assert.equal((await s.get("/v1/profiles?limit=1")).json.items.length, 1);
  assert.deepEqual((await s.get(`/v1/profiles/${profile.id}`)).json, profile);
  for (const part of PARTS) {
    const answer = await s.get(`/v1/profiles/${profile.id}/${part}`);
    assert.equal(answer.status, 200);
    const etag = answer.headers.etag;
    assert.match(etag, /^(W\/)?"[^"]+"$/);
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const same = await s.get(`/v1/profiles/${profile.id}/${part}`, { headers: { "If-None-Match": tag } });
      assert.equal(same.status, 304, tag);
      assert.equal(same.body.length, 0);
      assert.equal(same.headers.etag, etag);
    }
    assert.equal((await s.get(`/v1/profiles/${profile.id}/${part}`, { headers: { "If-None-Match": '"other"' } })).status, 200);
    assert.equal((await s.get(`/v1/profiles/${UNKNOWN}/${part}`)).status, 404);
  }
  // 100 kernels of 10 us, one every 20 us
  const row = (await s.get(`/v1/profiles/${profile.id}/breakdown`)).json.rows.find((r) => r.step === null);
  assert.equal(row.compute_us, 1000);
  assert.equal(row.span_us, 99 * 20 + 10);
  assert.equal(row.free_us, 99 * 10);
});

test("analyze prints what the calls return", async () => {
  const { writeFileSync, rmSync } = await import("node:fs");
  const file = `${s.dir}/contract.json`;
  writeFileSync(file, kineto(100));
  const printed = await run(["analyze", file, "--json"]);
  rmSync(file);
  assert.equal(printed.code, 0, printed.stderr);
  const all = JSON.parse(printed.stdout);
  for (const part of PRINTED) assert.deepEqual(all[part], (await s.get(`/v1/profiles/${profile.id}/${part}`)).json, part);
});

test("large answers are compressed for those who ask", async () => {
  const many = await s.upload("many", kineto(30));
  assert.equal(many.status, 201);
  for (const target of ["/openapi.json", "/v1/plan-kinds", `/v1/profiles/${profile.id}/analysis`]) {
    const plain = await s.get(target), packed = await s.get(target, { headers: { "Accept-Encoding": "gzip" } });
    if (plain.body.length < 1024) continue;
    assert.equal(packed.headers["content-encoding"], "gzip", target);
    assert.match(packed.headers.vary ?? "", /accept-encoding/i);
    assert.ok(packed.body.length < plain.body.length);
    assert.deepEqual(zlib.gunzipSync(packed.body), plain.body);
    assert.match(packed.headers.etag, /^"[^"]+"$/, "other bytes, another strong tag");
    assert.notEqual(packed.headers.etag, plain.headers.etag);
    const again = (etag) => s.get(target, { headers: { "Accept-Encoding": "gzip", "If-None-Match": etag } });
    assert.equal((await again(packed.headers.etag)).status, 304);
    assert.equal((await again(plain.headers.etag)).status, 200);
  }
});

test("unknown parameters, members and ids", async () => {
  assert.equal((await s.get("/v1/profiles?color=red")).status, 400);
  assert.equal((await s.get("/v1/profiles?limit=0")).status, 400);
  assert.equal((await s.get("/v1/profiles?cursor=nonsense")).status, 400);
  assert.equal((await s.get(`/v1/profiles/${UNKNOWN}`)).status, 404);
  assert.equal((await s.get("/v1/profiles/nonsense")).status, 404);
  assert.equal((await s.get("/v2/profiles", { check: false })).status, 404);
  assert.equal((await s.post("/v1/plans", { ...PROBLEM, color: "red" })).status, 400);
});

test("plans: created once, found again, deleted", async () => {
  const made = await s.post("/v1/plans", PROBLEM);
  assert.equal(made.status, 201, String(made.body));
  const again = await s.post("/v1/plans", PROBLEM);
  assert.equal(again.status, 200);
  assert.deepEqual(again.json, made.json);
  assert.deepEqual((await s.get(`/v1/plans/${made.json.id}`)).json, made.json);
  assert.ok((await s.get("/v1/plans")).json.items.length >= 1);
  assert.equal((await s.request("DELETE", `/v1/plans/${made.json.id}`)).status, 204);
  assert.equal((await s.get(`/v1/plans/${made.json.id}`)).status, 404);
});

test("models and clusters", async () => {
  for (const [family, document] of [["models", PROBLEM.model], ["clusters", PROBLEM.cluster]]) {
    const target = `/v1/${family}/mine-1`;
    const put = (body) => s.request("PUT", target, { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    assert.equal((await put(document)).status, 201);
    assert.equal((await put(document)).status, 200);
    assert.equal((await s.get(target)).status, 200);
    assert.equal((await put({ ...document, color: "red" })).status, 400);
    assert.equal((await s.request("DELETE", target)).status, 204);
    assert.equal((await s.get(target)).status, 404);
    const all = (await s.get(`/v1/${family}?limit=100`)).json.items;
    assert.ok(all.length > 0, "presets are there from the start");
  }
});

test("jobs", async () => {
  const queued = await s.upload("job", kineto(50), { headers: { Prefer: "respond-async" } });
  assert.equal(queued.status, 202);
  await s.settled(queued.json.id);
  const target = `/v1/jobs/${queued.json.id}`;
  const job = await s.get(target);
  assert.equal(job.status, 200);
  assert.equal(job.json.progress, 1);
  assert.equal((await s.request("DELETE", target)).status, 409);
  assert.equal((await s.get(`/v1/jobs/${UNKNOWN}`)).status, 404);
});

test("a deleted profile is gone", async () => {
  const { json } = await s.upload("gone", kineto(5));
  assert.equal((await s.request("DELETE", `/v1/profiles/${json.id}`)).status, 204);
  assert.equal((await s.get(`/v1/profiles/${json.id}`)).status, 404);
  assert.equal((await s.request("DELETE", `/v1/profiles/${json.id}`)).status, 404);
});

test("an idempotency key gives the same answer twice", async () => {
  const key = { "Idempotency-Key": "key-1", Prefer: "respond-async" };
  const a = await s.upload("once", kineto(7), { headers: key });
  const b = await s.upload("once", kineto(7), { headers: key });
  assert.equal(a.status, 202);
  assert.equal(b.json.id, a.json.id);
  const other = await s.upload("once", kineto(8), { headers: key });
  assert.equal(other.status, 422);
});

test("the page and its parts are served with a policy", async () => {
  const page = await s.get("/");
  assert.equal(page.status, 200);
  assert.match(page.headers["content-type"], /^text\/html/);
  assert.match(page.headers["content-security-policy"], /default-src/);
  for (const [, target] of page.body.toString().matchAll(/(?:src|href)="(\/[^"#]+)"/g))
    assert.equal((await s.get(target)).status, 200, target);
});
