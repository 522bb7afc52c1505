// A page of a list ends early where its items are long: it is written whole before it is sent.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service } from "./service.mjs";

let s;
before(async () => { s = await Service.start(); });
after(() => s.stop());

// 8 MiB of documents end a page (PAGE_BYTES_MAX): of 12 with 900 kB and a little each, the tenth passes it.
const LONG = "x".repeat(900000), COUNT = 12, PAGE = 10;

async function pages(path) {
  const sizes = [], names = [];
  for (let cursor = ""; ;) {
    const { status, json, headers } = await s.get(`${path}?limit=500${cursor && `&cursor=${cursor}`}`);
    assert.equal(status, 200);
    sizes.push(json.items.length);
    names.push(...json.items.map((item) => item.name ?? item.id));
    assert.equal(headers.link !== undefined, json.next_cursor !== null);
    if (!json.next_cursor) return { sizes, names };
    cursor = encodeURIComponent(json.next_cursor);
  }
}

test("plans", async () => {
  const made = [];
  for (let i = 0; i < COUNT; i++) {
    const answer = await s.post("/v1/plans", { kind: "gradient-fusion",
      gradients: [{ name: `${i}${LONG}`, bytes: 1e6, backward_seconds: 0.1 }],
      cost: [{ bytes: 1e6, seconds: 0.1 }, { bytes: 1e7, seconds: 0.2 }] });
    assert.equal(answer.status, 201);
    made.unshift(answer.json.id);
  }
  const { sizes, names } = await pages("/v1/plans");
  assert.deepEqual(sizes, [PAGE, COUNT - PAGE]);
  assert.deepEqual(names, made);
});

test("clusters", async () => {
  const presets = (await pages("/v1/clusters")).names, made = [];
  for (let i = 0; i < COUNT; i++) {
    made.push(`long-${String(i).padStart(2, "0")}`);
    const answer = await s.request("PUT", `/v1/clusters/${made[i]}`, { headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ nodes: 1, devices_per_node: 8,
        device: { name: LONG, peak_flops: 1e14, memory_bytes: 8e10, memory_bandwidth: 1e12 },
        links: [{ scope: "node", bytes_per_second: 1e11 }] }) });
    assert.equal(answer.status, 201);
  }
  const { sizes, names } = await pages("/v1/clusters");
  assert.deepEqual(sizes, [presets.length + PAGE, COUNT - PAGE]);
  assert.deepEqual(names, [...presets, ...made]);
});
