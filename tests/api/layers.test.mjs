// The layers of made-up jobs: as many as the generator made, with the times of its books, in the shape that a plan takes.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { GENERATE } from "../support/service.mjs";
import { kineto } from "./inputs.mjs";
import { errorsOf } from "./schema.mjs";
import { Service } from "./service.mjs";

const place = mkdtempSync(join(tmpdir(), "signalbox-layers-"));
let s, made = 0;
before(async () => { s = await Service.start(); });
after(async () => { await s.stop(); rmSync(place, { recursive: true, force: true }); });

async function layersOf(...options) {
  const job = join(place, `job${made++}`);
  execFileSync(GENERATE, [...options, "--truth", `${job}.truth`, job]);
  const body = options.includes("--ranks") ? execFileSync("tar", ["-C", job, "-c", "."], { maxBuffer: 1 << 28 }) : readFileSync(job);
  const { json: profile } = await s.upload("job", body);
  const { status, json } = await s.get(`/v1/profiles/${profile.id}/layers`);
  assert.equal(status, 200);
  return { profile, layers: json, truth: JSON.parse(readFileSync(`${job}.truth`, "utf8")).layers };
}

test("layers are those that were made", async () => {
  for (const options of [["kineto", "--layers", "24"], ["kineto", "--layers", "7", "--old", "--seed", "5"], ["kineto", "--layers", "16", "--ranks", "3"],
    ["nsys", "--layers", "40"], ["signalbox", "--layers", "12", "--seed", "3"]]) {
    const { layers, truth } = await layersOf(...options);
    assert.equal(layers.reason, null, options.join(" "));
    assert.equal(layers.layers.length, 1);
    const [row] = layers.layers;
    assert.deepEqual([row.name, row.count], ["layer", truth.count], options.join(" "));
    // a median of two is half a nanosecond beside the books' whole one
    for (const way of ["forward", "backward"]) assert.ok(Math.abs(row[way] * 1e9 - truth[`${way}_ns`]) <= 0.51, `${options.join(" ")}: ${way} ${row[way]}`);
    assert.deepEqual([layers.source, layers.confidence, layers.micro_batches], ["repetition", "medium", 1]);
    // the job has nothing but layers, and no sizes
    for (const end of [layers.head, layers.tail]) assert.deepEqual([end.forward, end.backward], [0, 0]);
    assert.deepEqual([row.parameters_bytes, row.activation_bytes], [null, null]);
    assert.ok(layers.warnings.some((w) => w.code === "no_parameters") && layers.warnings.some((w) => w.code === "no_activation"));
  }
});

test("they are what a plan of kind pipeline takes", async () => {
  const { layers, truth } = await layersOf("kineto", "--layers", "24");
  const { status, json } = await s.post("/v1/plans", { kind: "pipeline", stages: 4, micro_batches: 8, layers: layers.layers, head: layers.head, tail: layers.tail });
  assert.equal(status, 201, JSON.stringify(json));
  assert.deepEqual(json.solution.layers.flat(), [6, 6, 6, 6]);
  assert.equal(json.predicted.memory_bytes, null);
  // (m + p - 1) pairs of six layers (schedules.md)
  assert.ok(Math.abs(json.predicted.makespan - 11 * 6 * (truth.forward_ns + truth.backward_ns) / 1e9) < 1e-6);
  // a bound on the memory needs what layers take of it
  const bound = await s.post("/v1/plans", { kind: "pipeline", stages: 4, micro_batches: 8, memory_bytes: 1e9, layers: layers.layers });
  assert.deepEqual([bound.status, bound.json.errors[0].pointer], [400, "/layers/0/parameters_bytes"]);
});

test("a plan takes them from the profile itself", async () => {
  const { profile, layers } = await layersOf("kineto", "--layers", "24");
  const problem = { kind: "pipeline", stages: 6, micro_batches: 8 };
  const { status, json } = await s.post("/v1/plans", { ...problem, profile: profile.id });
  assert.equal(status, 201, JSON.stringify(json));
  assert.deepEqual(json.problem.layers, layers.layers);
  // the same problem is the same plan, however it was written
  const again = await s.post("/v1/plans", { ...problem, layers: layers.layers, head: layers.head, tail: layers.tail });
  assert.deepEqual([again.status, again.json.id], [200, json.id]);
  const own = await s.post("/v1/plans", { ...problem, profile: profile.id, layers: [{ count: 8, forward: 1 }] });
  assert.equal(own.json.problem.layers[0].count, 8);
  const { json: few } = await s.upload("few", kineto(10));
  for (const [id, expected] of [["00000000-0000-7000-8000-000000000000", 400], ["nobody", 400], [few.id, 422], [7, 400]]) {
    const { status, json } = await s.post("/v1/plans", { ...problem, profile: id });
    assert.deepEqual([status, json.errors[0].pointer], [expected, "/profile"], JSON.stringify(json));
  }
});

test("the advice on a bubble links such a plan", async () => {
  const { profile, truth } = await layersOf("kineto", "--layers", "12", "--ranks", "4", "--fault", "parallel.pipeline_bubble");
  const advice = (await s.get(`/v1/profiles/${profile.id}/advice`)).json.items.find((i) => i.finding === "parallel.pipeline_bubble");
  assert.equal(advice.plan.kind, "pipeline");
  const { problem } = advice.plan;
  const schema = (await s.get("/v1/plan-kinds")).json.items.find((k) => k.kind === "pipeline").schema;
  assert.deepEqual(errorsOf(schema, schema, problem), []);
  assert.deepEqual([problem.stages, problem.micro_batches], [2, 1]);
  assert.equal(problem.layers.reduce((n, l) => n + l.count, 0), 2 * truth.count);
  assert.equal((await s.post("/v1/plans", problem)).status, 201);
});

test("a profile without layers says why", async () => {
  const { json: profile } = await s.upload("few", kineto(10));
  const { json } = await s.get(`/v1/profiles/${profile.id}/layers`);
  assert.deepEqual([json.layers, json.source, json.confidence, json.micro_batches, json.stages], [[], null, null, null, []]);
  assert.match(json.reason, /\.$/);
});
