// Rows of the user and the estimate of the whole pipeline: kept, solved by an ILP, or told with their member.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service } from "./service.mjs";

let s;
before(async () => { s = await Service.start(); });
after(() => s.stop());

const LAYER = { name: "decoder", count: 8, forward: 1, parameters_bytes: 10, activation_bytes: { none: 4, full: 1 } };
const PROBLEM = { kind: "pipeline", method: "bmpipe", stages: 4, micro_batches: 8, layers: [LAYER] };
const ask = (more) => s.post("/v1/plans", { ...PROBLEM, ...more });

// Eight equal layers of 1 + 2 on four stages: at most one on stage 0 leaves seven for three stages, so that one of them holds three.
test("rows of the user: what one stage may hold is kept without an ILP", async () => {
  const { status, json } = await ask({ objective: "bottleneck", rows: [{ terms: [{ stage: 0 }], at_most: 1 }] });
  assert.equal(status, 201, JSON.stringify(json));
  assert.equal(json.solution.layers[0][0], 1);
  assert.equal(json.predicted.bottleneck, 9);
  assert.equal(json.quality.optimal, true);
  // the even cut does not keep to it
  assert.ok(json.rejected.some((r) => r.example.method === "even"));
});

// Stage 0 shall hold as many as all others together: four, which take 4 * (1 + 2) = 12. Without cbc that is told as a conflict.
test("rows of the user: what needs an ILP is solved by it, or told", async () => {
  const rows = [{ terms: [{ stage: 0 }, ...[1, 2, 3].map((stage) => ({ weight: -1, stage }))], at_least: 0, at_most: 0 }];
  const { status, json } = await ask({ objective: "bottleneck", rows });
  if (status === 409) {
    assert.equal(json.code, "solver_missing");
    return;
  }
  assert.equal(status, 201, JSON.stringify(json));
  assert.equal(json.solution.layers[0][0], 4);
  assert.equal(json.predicted.bottleneck, 12);
});

test("rows of the user that cannot be are told with their member", async () => {
  for (const [rows, status, field] of [
    [[{ terms: [{ stage: 0 }], at_most: 0 }], 422, "/rows"],
    [[{ terms: [{ stage: 4 }], at_most: 1 }], 422, "/rows/0/terms/0/stage"],
    [[{ terms: [{ layer: "encoder" }], at_most: 1 }], 422, "/rows/0/terms/0/layer"],
    [[{ terms: [], at_most: 1 }], 422, "/rows/0/terms"],
    [[{ terms: [{}] }], 400, "/rows/0/at_most"],
    [{ terms: [{}] }, 400, "/rows"],
  ]) {
    const answer = await ask({ rows });
    assert.equal(answer.status, status, JSON.stringify(answer.json));
    assert.equal(answer.json.errors[0].pointer, field, JSON.stringify(answer.json));
  }
  const even = await ask({ method: "even", rows: [{ terms: [{ stage: 0 }], at_most: 1 }] });
  assert.equal(even.status, 422);
  assert.equal(even.json.errors[0].pointer, "/rows");
});

// Sixteen layers of 1 + 2 on 2 stages with 2 chunks, m = 8: four layers a cell, so that nothing waits. The work is 48, the first chunk
// counts (2 - 0) / 2 / 2 = 1/2 of its 24 once more, and the bottleneck 4 + 8 counts for 8 - 2 micro-batches: 48 + 12 + 72.
test("the estimate of the whole pipeline", async () => {
  const { status, json } = await ask({ stages: 2, interleave: 2, objective: "whole", layers: [{ ...LAYER, count: 16 }] });
  assert.equal(status, 201, JSON.stringify(json));
  assert.equal(json.quality.objective, "whole");
  assert.equal(json.quality.value, 132);
  assert.ok(json.quality.gap >= 0 && json.quality.gap < 1);
  assert.deepEqual(json.solution.layers, [[4, 4], [4, 4]]);
});
