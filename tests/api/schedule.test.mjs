// The kind schedule: its schema says what it takes, the worked examples hold, and what cannot be is told with its member.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { errorsOf } from "./schema.mjs";
import { Service } from "./service.mjs";

let s, schema;
before(async () => {
  s = await Service.start();
  schema = (await s.get("/v1/plan-kinds")).json.items.find((k) => k.kind === "schedule")?.schema;
});
after(() => s.stop());

const PROBLEM = { kind: "schedule", schedule: "1f1b", stages: 4, micro_batches: 8, forward: 1, backward: 2 };
const ask = (more) => s.post("/v1/plans", { ...PROBLEM, ...more });

test("every schedule is taken, and its name is in the schema", async () => {
  const names = schema.properties.schedule.enum;
  assert.equal(names.length, 13);
  for (const schedule of names) {
    const problem = { ...PROBLEM, schedule, ...(/interleaved/.test(schedule) ? { chunks: 2 } : {}), ...(/seq|tera/.test(schedule) ? { slices: 2 } : {}) };
    assert.deepEqual(errorsOf(schema, schema, problem), []);
    const { status, json } = await s.post("/v1/plans", problem);
    assert.equal(status, 201, schedule);
    assert.equal(json.solution.schedule, schedule);
    assert.ok(json.quality.lower_bound <= json.predicted.makespan);
    for (const list of ["bubble_makespan", "bubble_span", "peak"]) assert.equal(json.predicted[list].length, 4);
    // a backward that the schedule must split is halved, and it is said
    assert.equal(json.warnings.some((w) => w.code === "backward_halved"), /^(zb|dual)/.test(schedule), schedule);
  }
});

// (m + p - 1) T; p4 m8 with stage 1 doubled; zero bubble 2 with parts of 1: 27; half a hop of delay: 41; DualPipeV on two
// devices with chunks of 1 and pairs of 3: 50 (schedules.md)
test("worked examples", async () => {
  for (const [more, makespan] of [
    [{}, 33], [{ forward: [1, 2, 1, 1], backward: [2, 4, 2, 2] }, 53], [{ backward: undefined }, 33],
    [{ schedule: "zb-h2", backward: 1, weight_gradient: 1 }, 27], [{ send_seconds: 0.5 }, 41],
    [{ schedule: "dualpipe-v", stages: 2, forward: 2, backward: 2, weight_gradient: 2, overlapped: 3 }, 50],
  ]) assert.equal((await ask(more)).json.predicted.makespan, makespan, JSON.stringify(more));
  // what stage 0 recomputes is done while it waits: test_schedule.c, early_recompute
  const early = { schedule: "1f1b-early-recompute", stages: 2, micro_batches: 2, recompute: [1, 0] };
  assert.equal((await ask(early)).json.predicted.makespan, 9);
  const { predicted } = (await ask({})).json;
  assert.deepEqual([predicted.bubble_makespan, predicted.bubble_span, predicted.peak], [[9, 9, 9, 9], [9, 6, 3, 0], [4, 3, 2, 1]]);
});

test("what cannot be is told with its member", async () => {
  for (const [more, status, pointer] of [
    [{ schedule: "2f2b" }, 400, "/schedule"], [{ schedule: 7 }, 400, "/schedule"], [{ stages: 0 }, 422, "/stages"],
    [{ micro_batches: 1e15 }, 422, "/micro_batches"], [{ micro_batches: 4e9 }, 422, "/micro_batches"], [{ chunks: 2 }, 422, "/chunks"],
    [{ slices: 2 }, 422, "/slices"], [{ forward: -1 }, 422, "/forward"], [{ forward: [1, 1, 1] }, 422, "/forward"],
    [{ forward: [1, 1, -1, 1] }, 422, "/forward/2"], [{ forward: [1, "1", 1, 1] }, 400, "/forward/1"], [{ forward: undefined }, 400, "/forward"],
    [{ weight_gradient: 1, backward: undefined }, 400, "/backward"], [{ send_seconds: 1e300 }, 422, "/send_seconds"],
    [{ overlapped: 1 }, 422, "/overlapped"], [{ recompute: 1 }, 422, "/recompute"], [{ blocking: 1 }, 400, "/blocking"], [{ colour: 1 }, 400, "/colour"],
    [{ schedule: "dualpipe", stages: 3, micro_batches: 12 }, 422, "/stages"], [{ schedule: "zb-v", micro_batches: 7 }, 422, "/micro_batches"],
    [{ stages: 65535, micro_batches: 65535 }, 422, "/micro_batches"],
  ]) {
    const { status: is, json } = await ask(more);
    assert.equal(is, status, JSON.stringify([more, json]));
    assert.equal(json.errors[0].pointer, pointer, JSON.stringify(json));
  }
});
