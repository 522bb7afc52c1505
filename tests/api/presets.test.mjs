// The presets: each says where its figures come from, and each model can be planned on the usual clusters.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service } from "./service.mjs";

let s;
const post = (body) => s.request("POST", "/v1/plans", { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
const all = async (family) => (await s.get(`/v1/${family}?limit=500`)).json.items;

before(async () => {
  s = await Service.start();
});
after(() => s.stop());

test("models, clusters and devices are listed with their sources", async () => {
  for (const family of ["models", "clusters", "devices"]) {
    const items = await all(family);
    assert.ok(items.length > 10, family);
    assert.equal(new Set(items.map((i) => i.name)).size, items.length, `no name of ${family} twice`);
    for (const item of items) {
      assert.equal(item.preset, true);
      assert.match(item.source, /\w{3}/, item.name);
      assert.deepEqual((await s.get(`/v1/${family}/${item.name}`)).json, item);
    }
  }
  assert.equal((await s.get("/v1/devices/abacus")).status, 404);
  assert.equal((await s.request("PUT", "/v1/devices/mine", { headers: { "Content-Type": "application/json" }, body: "{}" })).status, 405);
});

test("a cluster takes any device by its name", async () => {
  const model = { layers: 2, hidden: 256, heads: 4, ffn_hidden: 1024, vocab: 1024, seq_len: 256 };
  for (const { name, memory_bytes, links } of await all("devices")) {
    const cluster = { nodes: 1, devices_per_node: 4, device: name };
    const { status, json } = await post({ kind: "estimate", model, cluster, batch: { global_sequences: 8 }, strategy: { dp: 4 } });
    assert.equal(status, 201, name);
    assert.ok(json.predicted.memory_bytes < memory_bytes, name);
    assert.equal(links[0].scope, "node", name);
  }
});

// Adam in mixed precision keeps 16 to 18 bytes a parameter. An answer that fits, or the least that would.
test("every model is planned, or told what it lacks, on the usual clusters", async () => {
  const models = await all("models");
  for (const [preset, nodes] of [["dgx-h100", 8], ["atlas-910b", 8]]) {
    const { json: base } = await s.get(`/v1/clusters/${preset}`);
    const { json: device } = await s.get(`/v1/devices/${base.device}`);
    const devices = nodes * base.devices_per_node;
    let planned = 0;
    for (const { name } of models) {
      const { status, json } = await post({ kind: "strategy", model: name, cluster: { preset, nodes }, batch: { global_sequences: 128 }, limit: 1 });
      const where = `${name} on ${nodes} x ${preset}`;
      if (status === 422) {
        assert.equal(json.code, "infeasible", where);
        assert.ok(json.least_memory_bytes > device.memory_bytes, where);
        assert.ok(json.nearest, where);
        continue;
      }
      assert.equal(status, 201, where);
      planned += 1;
      const { dp, tp, cp, pp, devices_used } = json.solution;
      assert.equal(dp * tp * cp * pp, devices_used, where);
      assert.ok(devices_used <= devices, where);
      assert.ok(json.predicted.memory_bytes <= device.memory_bytes, where);
      assert.ok(json.predicted.mfu > 0 && json.predicted.mfu < 1, where);
    }
    assert.ok(planned > models.length / 2 && planned < models.length, preset); // a trillion parameters fit on neither
  }
});

// What the sources of the presets say is not verified, or chosen.
test("a network that no source stands behind is told where it is used, once", async () => {
  const told = async (cluster, dp = 8) => {
    const { status, json } = await post({ kind: "estimate", model: "llama3-8b", cluster, batch: { global_sequences: 256 }, strategy: { tp: 2, dp, zero: 1 } });
    assert.equal(status, 201, JSON.stringify(json));
    return json.warnings.filter((w) => w.code === "network_assumed").length;
  };
  for (const { name, source, links } of await all("clusters")) {
    const assumed = /not verified|chosen here|as is usual/.test(source) ? 1 : 0;
    assert.equal(await told({ preset: name, nodes: 4 }), assumed, name);
    const own = links.map((l) => ({ ...l, bytes_per_second: l.scope === "cluster" ? 1e10 : l.bytes_per_second }));
    assert.equal(await told({ preset: name, nodes: 4, links: own }), 0, name);
    assert.equal(await told(name, 2), 0, `${name}, one node`);
  }
  // another kind, and a search
  const { json } = await post({ kind: "scaling", model: "llama3-8b", cluster: { preset: "mi300x-8", nodes: 2 }, batch: { global_sequences: 64 } });
  assert.ok(json.warnings.some((w) => w.code === "network_assumed"), JSON.stringify(json.warnings));
});
