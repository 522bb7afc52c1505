// A word that is not known is refused with those that are, and an example of what was ruled out is of what it says.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service } from "./service.mjs";

let s;
before(async () => { s = await Service.start(); });
after(() => s.stop());

const request = (more) => ({ kind: "strategy", model: "llama3-8b", cluster: "dgx-h100", batch: { global_sequences: 64 }, ...more });

test("the refusal of a word says which there are, or where they stand", async () => {
  for (const [more, code, detail] of [
    [{ method: "exakt" }, "unknown_method", /exact.*amp.* or /],
    [{ constraints: { tensor: "3d" } }, "unknown_value", /^\/constraints\/tensor must be 1d or 2d$/],
    [{ constraints: { offload: ["wheels"] } }, "unknown_value", /^\/constraints\/offload\/0 must be weights, gradients, optimizer, activations or none$/],
    [{ constraints: { offload: true } }, "wrong_type", /a word or a list of words/],
    [{ constraints: { sequence_parallel: "yes" } }, "wrong_type", /true or false/],
    [{ objective: "fun" }, "unknown_value", /^\/objective must be step_time or time$/],
    [{ model: "llama" }, "unknown_name", /GET \/v1\/models/],
    [{ cluster: "dgx" }, "unknown_name", /GET \/v1\/clusters/],
    [{ cluster: { nodes: 1, devices_per_node: 8, device: "h100" } }, "unknown_device", /GET \/v1\/devices/],
  ]) {
    const { status, json } = await s.post("/v1/plans", request(more));
    assert.ok(status === 400 || status === 422, JSON.stringify(more));
    assert.equal(json.code, code, JSON.stringify(more));
    assert.match(json.detail, detail, JSON.stringify(more));
  }
});

test("ZeRO in a pipeline is ruled out where there is a pipeline of several replicas", async () => {
  const { status, json } = await s.post("/v1/plans", request({ batch: { global_sequences: 256 } }));
  assert.equal(status, 201);
  const { example } = json.rejected.find((r) => r.reason === "zero_with_pipeline");
  assert.ok(example.zero === 2 && example.pp > 1 && example.dp * example.cp > 1, JSON.stringify(example));
});
