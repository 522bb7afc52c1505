// /metrics: what promtool checks, and what it does not (groups, repeats, histograms).
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, test } from "node:test";
import { kineto } from "./inputs.mjs";
import { Service } from "./service.mjs";

let s, text;
before(async () => {
  s = await Service.start();
  await s.upload("metrics", kineto());
  await s.get("/v1/profiles");
  await s.get("/v1/nothing", { check: false });
  await s.get("/v1/elsewhere/%7Bid%7D", { check: false });
  text = (await s.get("/metrics")).body.toString();
});
after(() => s.stop());

function samples() {
  return text.split("\n").filter((l) => l && !l.startsWith("#")).map((l) => {
    const m = /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (\S+)$/.exec(l);
    assert.ok(m, `no sample: ${l}`);
    const labels = Object.fromEntries([...(m[2] ?? "").matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map((x) => [x[1], x[2]]));
    return { name: m[1], labels, value: Number(m[3]), key: `${m[1]}{${m[2] ?? ""}}` };
  });
}

test("type, line ends and prefix", async () => {
  const answer = await s.get("/metrics");
  assert.equal(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
  assert.ok(text.endsWith("\n") && !text.includes("\r"));
  for (const { name, value } of samples()) {
    assert.match(name, /^(signalbox_|process_)/);
    assert.ok(Number.isFinite(value), name);
  }
});

test("promtool finds nothing", (t) => {
  const tool = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
  if (tool.error?.code === "ENOENT") return t.skip("promtool is not installed");
  assert.equal(tool.status, 0, tool.stdout + tool.stderr);
  assert.equal(tool.stderr + tool.stdout, "");
});

test("samples of a metric stand together, after its type, each once", () => {
  const types = new Map(), seen = new Set(), closed = new Set();
  let at = "";
  for (const line of text.split("\n")) {
    const type = /^# TYPE (\S+) (\S+)$/.exec(line);
    if (type) {
      assert.ok(!types.has(type[1]), `two types of ${type[1]}`);
      types.set(type[1], type[2]);
    }
    if (!line || line.startsWith("#")) continue;
    const name = /^[a-z0-9_]+/.exec(line)[0];
    const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, "");
    assert.ok(types.has(family), `${name} has no type`);
    if (family !== at) {
      assert.ok(!closed.has(family), `${family} is in two places`);
      closed.add(at);
      at = family;
    }
    const key = line.slice(0, line.lastIndexOf(" "));
    assert.ok(!seen.has(key), `${key} twice`);
    seen.add(key);
  }
});

test("histograms are cumulative and end with +Inf = count", () => {
  const all = samples(), byKey = new Map(all.map((x) => [x.key, x.value]));
  const series = new Map();
  for (const x of all.filter((y) => y.name.endsWith("_bucket"))) {
    const { le, ...rest } = x.labels;
    const key = `${x.name.slice(0, -7)} ${JSON.stringify(rest)}`;
    if (!series.has(key)) series.set(key, []);
    series.get(key).push([le === "+Inf" ? Infinity : Number(le), x.value, rest]);
  }
  assert.ok(series.size > 0);
  for (const [key, buckets] of series) {
    for (let i = 1; i < buckets.length; i++)
      assert.ok(buckets[i][0] > buckets[i - 1][0] && buckets[i][1] >= buckets[i - 1][1], key);
    const [le, value, rest] = buckets.at(-1);
    const labels = Object.entries(rest).map(([k, v]) => `${k}="${v}"`).join(",");
    assert.equal(le, Infinity, key);
    assert.equal(byKey.get(`${key.split(" ")[0]}_count{${labels}}`), value, key);
  }
});

test("requests are counted by template, never by id", () => {
  const requests = samples().filter((x) => x.name === "signalbox_http_requests_total");
  const of = (route, method, status) => requests.find((x) => x.labels.route === route && x.labels.method === method &&
    Object.values(x.labels).includes(status))?.value;
  assert.equal(of("/v1/profiles", "POST", "201"), 1);
  assert.equal(of("/v1/profiles", "GET", "200"), 1);
  assert.equal(of("other", "GET", "404"), 2);
  assert.ok(!/[0-9a-f]{8}-[0-9a-f]{4}-7/.test(text), "no ids");
});
