// Our own profile format: the schema that is served, its documentation and the reader say the same.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { GENERATE } from "../support/service.mjs";
import { errorsOf } from "./schema.mjs";
import { Service } from "./service.mjs";

let s, schema;
before(async () => {
  s = await Service.start();
  const answer = await s.get("/v1/formats/signalbox-profile-v1.schema.json");
  assert.equal(answer.status, 200);
  assert.equal(answer.headers["content-type"], "application/schema+json");
  schema = JSON.parse(answer.body);
});
after(() => s.stop());

const fits = (document) => errorsOf(schema, schema, document).length === 0;
// The codes of the warnings, or of the error.
async function read(document) {
  const answer = await s.upload("one", Buffer.from(typeof document === "string" ? document : JSON.stringify(document)));
  return answer.status === 201 ? answer.json.warnings.map((w) => w.code) : [answer.json.code];
}

const EVENT = { lane: 0, kind: "kernel", name: "k", start_ns: 5, duration_ns: 7 };
const make = (event, top) => ({ signalbox_profile: 1, lanes: [{ id: 0, device: 0 }], events: [EVENT, { ...EVENT, ...event }], ...top });

test("what the schema accepts is read without a warning", async () => {
  const documents = [
    make({}), make({ link: 0, bytes: 0, sequence: 3, group: "g", collective: "all_reduce" }),
    make({}, { events: ["1736408884703643212", "1736408884703643213"].map((start_ns) => (
      { lane: "0", kind: "kernel", name: "k", start_ns, duration_ns: "1" })) }),
    make({ start_ns: -5, duration_ns: 0 }),
    make({ link: null, bytes: null, name: null, group: null, collective: null, direction: null, sequence: null }),
    make({}, { rank: 3, world_size: 8, chip: "H100", origin_ns: "-1", producer: { name: ["any", 1] } }),
    make({}, { rank: null, world_size: null, chip: null, groups: null, steps: null }),
    make({}, { groups: [{ name: "g" }, { name: "h", ranks: [] }, { name: "i", ranks: [1, "2"] }] }),
    make({}, { steps: [{ number: 0, start_ns: 0, duration_ns: 0 }, { number: "1", start_ns: "5", duration_ns: 5 }] }),
    make({}, { lanes: [{ id: 0, process: null, thread: null, device: null }, { id: "9000000000", process: "p", thread: "t", device: "3" }] }),
    make({}, { memory: null }), make({}, { memory: [] }), make({}, { memory: [{ time_ns: 1, allocated_bytes: 0 }, { time_ns: "2", reserved_bytes: "5", allocated_bytes: null }] }),
    make({}, { memory: [{ device: 0, allocator: "a", time_ns: 6, allocated_bytes: 1, reserved_bytes: 2, capacity_bytes: 3 }, { device: null, allocator: null, time_ns: 6, allocated_bytes: 1, capacity_bytes: null }] }),
    ...schema.$defs.event.properties.kind.enum.map((kind) => make({ kind })),
    ...schema.$defs.event.properties.direction.enum.map((direction) => make({ kind: "memcpy", direction })),
  ];
  for (const document of documents) {
    const text = JSON.stringify(document);
    assert.deepEqual(errorsOf(schema, schema, document), [], text);
    assert.deepEqual(await read(document), [], text);
  }
});

test("what the schema refuses gets a warning or an error", async () => {
  const documents = [
    make({ kind: "dance" }), make({ kind: 1 }), make({ kind: undefined }), make({ lane: undefined }), make({ lane: 1.5 }), make({ lane: null }),
    make({ start_ns: undefined }), make({ start_ns: "soon" }), make({ duration_ns: undefined }), make({ duration_ns: -1 }), make({ duration_ns: 0.5 }),
    make({ name: 5 }), make({ link: -1 }), make({ link: [1] }), make({ bytes: -1 }), make({ bytes: true }), make({ bytes: "1 KiB" }),
    make({ direction: "up" }), make({ group: 7 }), make({ sequence: -3 }), make({ collective: {} }),
    make({}, { rank: -1 }), make({}, { rank: "x" }), make({}, { world_size: 0 }), make({}, { chip: 5 }), make({}, { origin_ns: 1.5 }),
    make({}, { lanes: 5 }), make({}, { lanes: [{ id: 0 }, { device: 1 }] }), make({}, { lanes: [{ id: 0, device: -1 }] }), make({}, { lanes: [{ id: 0 }, 7] }),
    make({}, { groups: [{ ranks: [1] }] }), make({}, { groups: [{ name: "g", ranks: [-1] }] }), make({}, { groups: [{ name: "g", ranks: 5 }] }),
    make({}, { steps: [{ number: 1, start_ns: 5 }] }), make({}, { steps: [{ number: -1, start_ns: 5, duration_ns: 5 }] }),
    make({}, { memory: 5 }), make({}, { memory: [5] }), make({}, { memory: [{ allocated_bytes: 1 }] }), make({}, { memory: [{ time_ns: 1 }] }),
    make({}, { memory: [{ time_ns: 1, allocated_bytes: null }] }), make({}, { memory: [{ time_ns: 1, allocated_bytes: -1 }] }), make({}, { memory: [{ time_ns: "x", reserved_bytes: 1 }] }),
    make({}, { memory: [{ device: -1, time_ns: 1, reserved_bytes: 1 }] }), make({}, { memory: [{ allocator: 5, time_ns: 1, reserved_bytes: 1 }] }),
    make({}, { events: {} }), make({}, { events: undefined }), make({}, { signalbox_profile: 2 }), make({}, { signalbox_profile: "one" }),
  ].map((document) => JSON.parse(JSON.stringify(document)));
  for (const document of documents) {
    const text = JSON.stringify(document);
    assert.ok(!fits(document), text);
    assert.ok((await read(document)).length > 0, text);
  }
});

test("a generated profile fits the schema", () => {
  const document = JSON.parse(execFileSync(GENERATE, ["signalbox", "--events", "3000", "-"], { maxBuffer: 1 << 26 }));
  assert.deepEqual(errorsOf(schema, schema, document), []);
  assert.ok(document.events.length === 3000 && document.steps.length === 3 && document.memory.length > 0);
});

test("memory of one job is the same in our own format and in Kineto's", async () => {
  const answers = [];
  for (const dialect of ["signalbox", "kineto"]) {
    const file = execFileSync(GENERATE, [dialect, "--units", "100", "-"], { maxBuffer: 1 << 26 });
    const { json: profile } = await s.upload(dialect, file);
    const { json } = await s.get(`/v1/profiles/${profile.id}/memory`);
    // the two count from different moments: Kineto's trace has a range around all
    answers.push(json.ranks.map(({ rank, peak_bytes, reserved_peak_bytes, curve }) => (
      { rank, peak_bytes, reserved_peak_bytes, curve: curve.map(([us, ...bytes]) => [Math.round((us - curve[0][0]) * 1000), ...bytes]) })));
  }
  assert.ok(answers[0][0].curve.length > 20);
  assert.equal(answers[0][0].peak_bytes, 42949672960 + 2097152);
  assert.deepEqual(answers[0], answers[1]);
});

test("the documentation names each member, kind and direction", () => {
  const text = readFileSync(join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../../profiler/read/signalbox_profile.md"), "utf8");
  const { lane, group, step, memory, event } = schema.$defs;
  const words = [schema, lane, group, step, memory, event].flatMap((part) => Object.keys(part.properties));
  for (const word of [...words, ...event.properties.kind.enum, ...event.properties.direction.enum.filter(Boolean)])
    assert.ok(text.includes(`\`${word}\``) || text.includes(`"${word}"`), word);
  // and no kind that does not exist
  const table = text.slice(text.indexOf("| kind | what it is |"), text.indexOf("Kernels, collectives,"));
  const kinds = [...table.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, names]) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  assert.deepEqual(kinds.sort(), [...event.properties.kind.enum].sort());
});
