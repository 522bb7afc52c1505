// Hostile and broken inputs: each gets its problem document or its warning, and the service goes on.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import zlib from "node:zlib";
import { form, kineto, tar, zip } from "./inputs.mjs";
import { Service } from "./service.mjs";

let s;
before(async () => {
  s = await Service.start({ limits: { inflated_bytes: 400000000, archive_files: 1000 } });
});
after(() => s.stop());

const trace = kineto(200);

async function upload(name, bytes) {
  const f = form([{ name: "file", filename: name, data: bytes }]);
  const answer = await s.request("POST", "/v1/profiles", { headers: { "Content-Type": f.type, Prefer: "wait=25" }, body: f.body,
    agent: false });
  assert.equal((await s.get("/livez", { agent: false })).status, 200, "the service goes on");
  return answer;
}

// Where it happened: in the problem, or in one of the warnings.
const placed = (x, file) => x.file?.includes(file) && (Number.isInteger(x.line) || Number.isInteger(x.offset));

function refused(answer, file, { position = true, status = [422] } = {}) {
  assert.ok(status.includes(answer.status), `${answer.status}: ${answer.body}`);
  const text = JSON.stringify(answer.json);
  assert.ok(answer.json.detail.length > 0 && answer.json.code.length > 0);
  assert.ok(text.includes(file), `the problem names ${file}: ${text}`);
  if (position) assert.match(text, /"(line|offset)":\d+/);
}

function warned(answer, file) {
  assert.equal(answer.status, 201, `${answer.status}: ${answer.body}`);
  assert.ok(answer.json.warnings.some((w) => placed(w, file)), JSON.stringify(answer.json.warnings));
}

function either(answer, file, options) {
  if (answer.status === 201) warned(answer, file);
  else refused(answer, file, options);
}

test("truncated JSON", async () => {
  either(await upload("cut.json", trace.subarray(0, trace.length >> 1)), "cut.json");
});
test("truncated gzip", async () => {
  const packed = zlib.gzipSync(kineto(3000));
  either(await upload("cut.json.gz", packed.subarray(0, packed.length - 100)), "cut.json.gz");
  either(await upload("short.json.gz", packed.subarray(0, 15)), "short.json.gz", { position: false });
});
test("NaN for a number", async () => {
  either(await upload("nan.json", trace.toString().replace('"dur":10', '"dur":NaN')), "nan.json");
});
test("a string of 1 MB", async () => {
  const answer = await upload("long.json", trace.toString().replace("gemm_0", "x".repeat(1 << 20)));
  assert.ok([201, 422].includes(answer.status), String(answer.body));
  if (answer.status === 422) refused(answer, "long.json");
});
test("10,000 levels of nesting", async () => {
  const deep = `${"[".repeat(10000)}${"]".repeat(10000)}`;
  either(await upload("deep.json", trace.toString().replace('"correlation":1}', `"correlation":1,"deep":${deep}}`)), "deep.json");
  either(await upload("only.json", deep), "only.json", { position: false });
});
test("an archive that climbs out", async () => {
  for (const [name, bytes] of [["up.tar", tar([["../up.json", trace]])], ["up.zip", zip([["../up.json", trace]])],
    ["root.tar", tar([["/etc/root.json", trace]])]]) {
    const answer = await upload(name, bytes);
    assert.ok([201, 422].includes(answer.status), `${name}: ${answer.body}`);
    const text = JSON.stringify(answer.json);
    assert.match(text, /(up|root)\.json/, `the entry is named: ${text}`);
  }
});
test("bombs", async () => {
  const zeros = Buffer.alloc(300 << 20, 32);
  const bomb = zlib.gzipSync(zeros, { level: 9 });
  refused(await upload("bomb.json.gz", bomb), "bomb.json.gz", { position: false, status: [413, 422] });
  refused(await upload("bomb.zip", zip([["bomb.json", zeros]])), "bomb", { position: false, status: [413, 422] });
  const many = tar(Array.from({ length: 1200 }, (_, i) => [`f${i}.json`, Buffer.from("{}")]));
  refused(await upload("many.tar", many), "many.tar", { position: false, status: [413, 422] });
});
test("an empty file", async () => {
  const answer = await upload("empty.json", "");
  assert.equal(answer.status, 422);
  assert.match(answer.json.detail, /empty/);
  const beside = form([{ name: "file", filename: "empty.json", data: "" }, { name: "file", filename: "rank0.json", data: trace }]);
  const two = await s.request("POST", "/v1/profiles", { headers: { "Content-Type": beside.type, Prefer: "wait=25" }, body: beside.body });
  assert.equal(two.status, 201, String(two.body));
});
test("a PNG", async () => {
  const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  refused(await upload("picture.png", png), "picture.png", { position: false });
});
test("a CSV without its header", async () => {
  const answer = await upload("run_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv", "0,MatMul,AI_CORE,1,2,3\n1,Add,AI_VECTOR_CORE,4,5,6\n");
  either(answer, "kernel_details.csv", { position: false });
});
test("markup and bytes that are no text in names", async () => {
  const answer = await upload("<script>alert(1)</script>.json", trace.toString().replace("gemm_0", "<img src=x onerror=alert(1)>"));
  assert.equal(answer.status, 201, String(answer.body));
  const bytes = Buffer.from(trace.toString().replace("gemm_1", "gemm_~"), "latin1");
  bytes[bytes.indexOf("~")] = 0xff;
  const odd = await upload("odd.json", bytes);
  assert.ok([201, 422].includes(odd.status), String(odd.body));
  if (odd.status === 201) assert.equal((await s.get(`/v1/profiles/${odd.json.id}/operators`)).status, 200);
});
test("requests that are malformed", async () => {
  const send = (body, type = "application/json") => s.request("POST", "/v1/plans", { headers: { "Content-Type": type }, body });
  for (const body of ["", "{", "[]", "null", "{}x", '{"kind":1}', '{"kind":"nonsense"}', '{"kind":"estimate","kind":"estimate"}',
    '{"kind":"estimate","x":NaN}', `{"kind":"estimate","x":${"[".repeat(5000)}${"]".repeat(5000)}}`, "\xff\xfe"]) {
    const answer = await send(body);
    assert.equal(answer.status, 400, `${body.slice(0, 40)}: ${answer.body}`);
  }
  assert.equal((await send("{}", "text/plain")).status, 415);
});
