// The kind gradient-fusion: its schema says what it takes, and the answer is the plan that it says it is.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { errorsOf } from "./schema.mjs";
import { run, Service } from "./service.mjs";

let s, schema;
before(async () => {
  s = await Service.start();
  schema = (await s.get("/v1/plan-kinds")).json.items.find((k) => k.kind === "gradient-fusion")?.schema;
});
after(() => s.stop());

const COST = { latency_seconds: 2e-4, bytes_per_second: 2e10 };
const PROBLEM = { kind: "gradient-fusion", cost: COST,
  gradients: Array.from({ length: 40 }, (_, i) => ({ name: `layer ${i}`, bytes: 1 << 20, backward_seconds: 5e-5 })) };

// The recurrence, once more: the end of the last all-reduce.
function end(segments) {
  let ready = 0, at = 0, next = 0;
  for (const { first, count, bytes } of segments) {
    assert.equal(first, next);
    const held = PROBLEM.gradients.slice(first, first + count);
    assert.equal(bytes, held.reduce((sum, g) => sum + g.bytes, 0));
    ready += held.reduce((sum, g) => sum + g.backward_seconds, 0);
    at = Math.max(ready, at) + COST.latency_seconds + bytes / COST.bytes_per_second;
    next += count;
  }
  assert.equal(next, PROBLEM.gradients.length);
  return at;
}

test("what fits the schema is taken, what does not is refused", async () => {
  assert.ok(schema);
  const table = [{ bytes: 1, seconds: 1e-4 }, { bytes: 1 << 30, seconds: 0.1 }];
  for (const right of [PROBLEM, { ...PROBLEM, method: "greedy" }, { ...PROBLEM, cost: table, max_segment_bytes: 1 << 22 }]) {
    assert.deepEqual(errorsOf(schema, schema, right), []);
    assert.equal((await s.post("/v1/plans", right)).status, 201);
  }
  for (const wrong of [{ ...PROBLEM, gradients: [] }, { ...PROBLEM, cost: {} }, { ...PROBLEM, cost: [{ bytes: 1, seconds: -1 }] },
    { ...PROBLEM, max_segment_bytes: 0 }, { ...PROBLEM, colour: 1 }, { ...PROBLEM, gradients: [{ bytes: 1 }] }]) {
    assert.notEqual(errorsOf(schema, schema, wrong).length, 0, JSON.stringify(wrong));
    assert.match(String((await s.post("/v1/plans", wrong)).status), /^(400|422)$/);
  }
});

test("the plan ends when it says, and before the others", async () => {
  const { json: plan } = await s.post("/v1/plans", PROBLEM);
  const near = (a, b) => assert.ok(Math.abs(a - b) <= 1e-9 * b, `${a} is not ${b}`);
  near(plan.predicted.end_seconds, end(plan.solution.segments));
  assert.equal(plan.quality.optimal, true);
  const rules = Object.fromEntries(plan.alternatives.map((a) => [a.solution.rule, a]));
  assert.deepEqual(Object.keys(rules).sort(), ["bucket", "greedy", "none", "one"]);
  near(rules.greedy.predicted.end_seconds, end(rules.greedy.solution.segments));
  near(rules.none.predicted.end_seconds, end(PROBLEM.gradients.map((g, first) => ({ first, count: 1, bytes: g.bytes }))));
  near(rules.one.predicted.end_seconds, end([{ first: 0, count: 40, bytes: 40 << 20 }]));
  for (const a of plan.alternatives) assert.ok(a.loses_by >= 0, a.solution.rule);
  near(plan.predicted.speedup_over_none, rules.none.predicted.end_seconds / plan.predicted.end_seconds);
});

test("the command prints the same plan", async () => {
  const printed = await run(["plan", "-"], { input: JSON.stringify(PROBLEM) });
  assert.equal(printed.code, 0, printed.stderr);
  const here = JSON.parse(printed.stdout), there = (await s.post("/v1/plans", PROBLEM)).json;
  for (const member of ["solution", "predicted", "alternatives", "warnings"]) assert.deepEqual(here[member], there[member]);
  const bad = await run(["plan", "-"], { input: JSON.stringify({ ...PROBLEM, gradients: [] }) });
  assert.equal(bad.code, 1);
  assert.match(bad.stderr, /gradients/);
});
