// The schema of each kind of plan against what its parser takes. README's requests and some more are changed in one
// place each: what the schema takes is not malformed (400), and what the schema refuses is not planned.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { errorsOf } from "./schema.mjs";
import { Service } from "./service.mjs";

let s, kinds;
before(async () => {
  s = await Service.start();
  kinds = Object.fromEntries((await s.get("/v1/plan-kinds")).json.items.map((k) => [k.kind, k.schema]));
});
after(() => s.stop());

const isObject = (v) => typeof v === "object" && v !== null && !Array.isArray(v);
const CLUSTER = { nodes: 1, devices_per_node: 4, device: "a100-80g", links: [{ scope: "node", bytes_per_second: 3e11, latency_seconds: 1e-6 }] };
const MODEL = { layers: 4, hidden: 1024, heads: 16, ffn_hidden: 4096, vocab: 32000, seq_len: 1024 };
const BATCH = { global_sequences: 8 };
// README's, those with a model and a cluster of its own made small; and what README has in words only
const requests = [
  ...[...readFileSync("README.md", "utf8").matchAll(/^(\{"kind": "[\s\S]*?)\nEND$/gm)].map(([, text]) => JSON.parse(text))
    .map((r) => (isObject(r.batch) ? { ...r, model: MODEL, cluster: CLUSTER, batch: { ...BATCH, ...(r.batch.micro && { micro: 1 }) } } : r))
    .map((r) => (["scaling", "batch-schedule"].includes(r.kind) && r.model ? { ...r, model: MODEL, cluster: CLUSTER } : r))
    .filter((r) => !["amp", "best"].includes(r.method) && r.kind !== "embedding-placement"),
  { kind: "strategy", model: { ...MODEL, moe: { experts: 8, top_k: 2, ffn_hidden: 1024 } }, cluster: CLUSTER, batch: BATCH, constraints: { tp: [1, 2], zero: 1, offload: ["optimizer"] }, limit: 1 },
  { kind: "strategy", method: "amp", model: MODEL, cluster: CLUSTER, batch: BATCH, layer_seconds: { 1: 0.004, 2: 0.005 } },
  { kind: "estimate", model: MODEL, cluster: CLUSTER, batch: BATCH, strategy: { tp: 2, dp: 2, zero: 1, stages: [{ first_layer: 0, layers: 4, recompute: "none" }] } },
  { kind: "estimate", model: MODEL, cluster: { preset: "dgx-a100-80g", nodes: 2 }, batch: BATCH, strategy: { tp: 2, dp: 2 } },
  { kind: "embedding-placement", model: { ...MODEL, tied_embedding: true }, cluster: CLUSTER, batch: BATCH, strategy: { pp: 4 } },
  { kind: "scaling", compute_seconds: 1, overhead_seconds: 0.05 },
  { kind: "batch-schedule", method: "joint", fixed_seconds: 0.1, seconds_per_sample: 5e-7, noise_scale: 2e6 },
];

const WRONG = [null, "x", -1, 1.5, 1e19, [], { x: 1 }];

// A member that is null is one left out.
const given = (v) => (Array.isArray(v) ? v.map(given) : isObject(v) ? Object.fromEntries(Object.entries(v).filter(([, x]) => x !== null).map(([k, x]) => [k, given(x)])) : v);
// Refused for what is stored or known here, not for its shape.
const NAMES = ["unknown_name", "unknown_device"];
// Needed or not by what the cluster, which may be a name, has: the description says so.
const BY_CLUSTER = /^\/node_links\/\d+\/(node|cluster) is (missing|null)/;

// A value that a schema names, for a member that the request has not.
function sample(root, schema) {
  if (schema?.$ref) return sample(root, schema.$ref.slice(2).split("/").reduce((at, part) => at[part], root));
  if (!isObject(schema)) return 1;
  const inner = schema.anyOf?.[0] ?? schema.oneOf?.[0] ?? schema.allOf?.[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (inner && !schema.type) return sample(root, inner);
  switch ([schema.type].flat()[0]) {
    case "integer": case "number": return schema.minimum ?? (schema.exclusiveMinimum !== undefined ? schema.exclusiveMinimum + 1 : 1);
    case "boolean": return true;
    case "string": return "x";
    case "array": return Array.from({ length: schema.minItems ?? 1 }, () => sample(root, schema.items));
    case "object": return Object.fromEntries((schema.required ?? []).map((k) => [k, sample(root, schema.properties?.[k])]));
    default: return 1;
  }
}

// All requests that differ from a right one in one place: a member away, another value, or one more.
function* changed(value, root, schema, at = []) {
  const put = (path, x) => {
    const copy = structuredClone(value);
    const last = path.slice(0, -1).reduce((o, k) => o[k], copy), key = path.at(-1);
    if (x === undefined && Array.isArray(last)) last.splice(key, 1);
    else if (x === undefined) delete last[key];
    else last[key] = x;
    return copy;
  };
  const here = at.reduce((o, k) => o[k], value);
  for (const key of Array.isArray(here) ? [...here.keys()].slice(0, 1) : Object.keys(here)) {
    const path = [...at, key];
    if (key === "kind") continue;
    yield [path, undefined, put(path)];
    for (const x of WRONG) yield [path, x, put(path, x)];
    if (typeof here[key] === "object" && here[key] !== null) yield* changed(value, root, schema, path);
  }
  if (!Array.isArray(here)) yield [[...at, "no_such"], 1, put([...at, "no_such"], 1)];
  if (at.length === 0)
    for (const [key, own] of Object.entries(schema.properties ?? {}))
      if (!(key in here)) yield [[key], "…", put([key], sample(root, own))];
}

test("README has a request of nearly every kind", () => {
  assert.deepEqual(Object.keys(kinds).filter((kind) => !requests.some((r) => r.kind === kind)), []);
});

for (const [i, request] of requests.entries())
  test(`${request.kind} ${request.method ?? ""} (${i}): the schema and the parser agree`, async () => {
    const schema = kinds[request.kind], wrong = [];
    assert.deepEqual(errorsOf(schema, schema, request), [], JSON.stringify(request));
    let taken = 0, refused = 0;
    for (const [path, value, body] of changed(request, schema, schema)) {
      const { status, json } = await s.post("/v1/plans", body);
      const errors = errorsOf(schema, schema, given(body)), strict = errorsOf(schema, schema, body), where = `/${path.join("/")} = ${JSON.stringify(value)}`;
      if (strict.length === 0 && status === 400 && !NAMES.includes(json.code) && !BY_CLUSTER.test(json.detail)) wrong.push(`${where}: the schema takes it, and the parser says: ${json.detail}`);
      if (errors.length > 0 && status < 300) wrong.push(`${where}: planned, and the schema says: ${errors[0]}`);
      // what is there is not missing
      if (value === null && json.detail?.startsWith(`/${path.join("/")} is missing`) && !/ so is /.test(json.detail)) wrong.push(`${where}: ${json.detail}`);
      // who reads the detail alone knows what it is about
      if (status >= 400 && (/^(must|is|are|has|have|does|cannot|can|needs?) /.test(json.detail) || (json.errors && !json.detail.startsWith(json.errors[0].pointer))))
        wrong.push(`${where}: a detail without its subject: ${json.detail}`);
      if (status < 300) taken++;
      else refused++;
    }
    assert.deepEqual(wrong, []);
    assert.ok(taken > 0 && refused > 10, `${taken} ${refused}`);
  });

// Also where a member decides which form of a request it is, what else must be given, or what is warned of.
const OF_ANOTHER_FORM = /is not a known member|is no member of a request for this method/;
for (const [i, request] of requests.entries())
  test(`${request.kind} ${request.method ?? ""} (${i}): null says what leaving out says`, async () => {
    const wrong = [], answer = ({ status, json }) => JSON.stringify(status < 300 ? [json.predicted, json.warnings] : [status]);
    const same = async (path, without, body) => {
      const [a, b] = [await s.post("/v1/plans", without), await s.post("/v1/plans", body)];
      if (a.status < 300 && answer(a) !== answer(b) && !OF_ANOTHER_FORM.test(b.json.detail)) wrong.push(`/${path.join("/")}: ${b.json.detail ?? answer(b)}`);
    };
    for (const key of Object.keys(kinds[request.kind].properties)) if (!(key in request)) await same([key], request, { ...request, [key]: null });
    const members = (v, at = []) => Object.entries(v).flatMap(([k, x]) => [[...at, k], ...(typeof x === "object" && x !== null && (!Array.isArray(v) || k === "0") ? members(x, [...at, k]) : [])]);
    for (const path of members(request)) {
      const [without, body] = [structuredClone(request), structuredClone(request)];
      const holder = (o) => path.slice(0, -1).reduce((at, k) => at[k], o);
      if (Array.isArray(holder(body)) || path.includes("layer_seconds")) continue; // degrees are no members
      delete holder(without)[path.at(-1)];
      holder(body)[path.at(-1)] = null;
      await same(path, without, body);
    }
    assert.deepEqual(wrong, []);
  });
