// GET /v1/profiles/{id}/report: one page by Accept, safe whatever the operators are called.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { GENERATE } from "../support/service.mjs";
import { kineto, tar } from "./inputs.mjs";
import { run, Service } from "./service.mjs";

let s, id, job, marked;
const UNKNOWN = "00000000-0000-7000-8000-000000000000";
const NAME = "<img src=x onerror=alert(1)>"; // a name that is all brackets is its own type, too
const TITLE = "a <b>name</b> | `x`</title><script>alert(1)</script>";
const report = (of, accept, more = {}) => s.get(`/v1/profiles/${of}/report`, { headers: { ...(accept && { Accept: accept }), ...more } });

before(async () => {
  s = await Service.start();
  job = join(s.dir, "job.json");
  execFileSync(GENERATE, ["kineto", "--events", "9000", "--fault", "io.loading", "--name", NAME, job]);
  id = (await s.upload(TITLE, readFileSync(job))).json.id;
  marked = (await s.upload(TITLE, Buffer.from(kineto(100).toString().replaceAll("gemm_0", NAME)))).json.id;
});
after(() => s.stop());

// A strict reader of what we write: every element is closed in order, every attribute is quoted, no stray mark.
const VOID = new Set(["meta", "rect"]);
function htmlTexts(html) {
  assert.ok(html.startsWith("<!doctype html>\n"));
  const open = [], texts = [];
  let at = "<!doctype html>\n".length;
  while (at < html.length) {
    const next = html.indexOf("<", at);
    const text = html.slice(at, next < 0 ? html.length : next);
    if (open.at(-1) !== "style") {
      assert.doesNotMatch(text, />|&(?!amp;|lt;|gt;|quot;|#39;)/, text.slice(0, 80));
      texts.push(text);
    }
    if (next < 0) break;
    const tag = /^<(\/?)([a-z][a-z0-9]*)((?: [a-zA-Z-]+="[^"<>]*")*)(\/?)>/.exec(html.slice(next, next + 400));
    assert.ok(tag, html.slice(next, next + 80));
    if (tag[1]) assert.equal(open.pop(), tag[2]);
    else if (!tag[4] && !VOID.has(tag[2])) open.push(tag[2]);
    at = next + tag[0].length;
  }
  assert.deepEqual(open, []);
  return texts.join("").replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&quot;/g, '"').replace(/&#39;/g, "'").replace(/&amp;/g, "&");
}

test("HTML is whole, needs nothing, and runs nothing", async () => {
  const { status, headers, body } = await report(id, "text/html");
  assert.equal(status, 200);
  assert.equal(headers["content-type"], "text/html; charset=utf-8");
  assert.match(headers["content-security-policy"], /default-src 'none'.*sandbox/);
  assert.doesNotMatch(headers["content-security-policy"], /script-src|unsafe-eval/);
  const html = body.toString();
  assert.doesNotMatch(html, /<(script|link|img|iframe|object|embed|form|a|base)\b|\b(src|href|on[a-z]+)=|url\(|@import|https?:\/\//i);
  const text = htmlTexts(html);
  for (const part of [TITLE, "The bottleneck is io.", "Where the time goes", "Findings", "Estimated gain", "Operators by total time",
    "Not evaluated", "Critical path"])
    assert.ok(text.includes(part), part);
  assert.match(html, /<svg viewBox/);
  const other = (await report(marked, "text/html")).body.toString();
  assert.doesNotMatch(other, /<img/);
  assert.ok(htmlTexts(other).includes(NAME));
});

test("what the page says is what the calls answer", async () => {
  const text = htmlTexts((await report(id, "text/html")).body.toString());
  const { findings, verdict, not_evaluated } = (await s.get(`/v1/profiles/${id}/analysis`)).json;
  const { items } = (await s.get(`/v1/profiles/${id}/advice`)).json;
  assert.ok(text.includes(`The bottleneck is ${verdict.component}.${verdict.cause}`));
  for (const f of findings) assert.ok(text.includes(f.code), f.code);
  for (const e of findings[0].evidence.filter((x) => x.threshold !== null)) assert.ok(text.includes(e.origin), e.metric);
  for (const a of items) for (const { summary, how } of a.actions) assert.ok(text.includes(summary) && text.includes(how), summary);
  for (const n of not_evaluated) assert.ok(text.includes(n.needs), n.code);
});

test("Markdown has whole tables, and no markup of others", async () => {
  const { headers, body } = await report(id, "text/markdown");
  assert.equal(headers["content-type"], "text/markdown; charset=utf-8");
  const lines = body.toString().split("\n");
  const cells = (line) => line.match(/(?<!\\)\|/g).length;
  let tables = 0;
  lines.forEach((line, i) => {
    if (!line.startsWith("|")) return;
    if (!lines[i - 1].startsWith("|")) {
      tables++;
      assert.equal(lines[i - 1], "", "a table stands alone");
      assert.match(lines[i + 1], /^\|( (---|---:) \|)+$/);
    } else assert.equal(cells(line), cells(lines[i - 1]), line);
    assert.ok(line.endsWith("|"), line);
  });
  assert.ok(tables >= 5, `${tables} tables`);
  const outside = body.toString().replace(/(`+) .*? \1/g, "");
  assert.doesNotMatch(outside, /<|[^\\]\]\(|(^|[^\\])`/m);
  assert.match(outside, /^# a &lt;b&gt;name&lt;\/b&gt; \\\| \\`x\\`&lt;\/title&gt;/m);
  assert.match((await report(marked, "text/markdown")).body.toString(), /^\| &lt;img src=x onerror=alert\\\(1\\\)&gt; \|/m);
});

test("JSON is the object of analyze --json", async () => {
  const { json, headers } = await report(id, "application/json");
  assert.equal(headers["content-type"], "application/json");
  const printed = JSON.parse((await run(["analyze", job, "--json"])).stdout);
  assert.deepEqual(Object.keys(json), Object.keys(printed));
  for (const part of Object.keys(printed).filter((p) => p !== "profile")) assert.deepEqual(json[part], printed[part], part);
  assert.deepEqual(json.profile, (await s.get(`/v1/profiles/${id}`)).json);
});

test("Accept chooses, and caches are told", async () => {
  const type = async (accept) => (await report(id, accept)).headers["content-type"].split(";")[0];
  assert.equal(await type(undefined), "application/json");
  assert.equal(await type("*/*"), "application/json");
  assert.equal(await type("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"), "text/html");
  assert.equal(await type("text/html;q=0.1, text/markdown"), "text/markdown");
  const tags = new Set();
  for (const accept of ["application/json", "text/html", "text/markdown"]) {
    const { headers } = await report(id, accept);
    assert.match(headers.vary, /\bAccept\b(?!-)/);
    tags.add(headers.etag);
    const same = await report(id, accept, { "If-None-Match": headers.etag });
    assert.equal(same.status, 304, accept);
    assert.match(same.headers.vary, /\bAccept\b(?!-)/);
  }
  assert.equal(tags.size, 3);
  const none = await report(id, "image/png");
  assert.equal(none.status, 406);
  assert.equal(none.json.code, "not_acceptable");
  assert.match(none.headers.vary, /\bAccept\b(?!-)/);
  assert.equal((await report(UNKNOWN, "text/html")).status, 404);
  assert.equal((await s.get(`/v1/profiles/${id}/report?x=1`)).status, 400);
});

test("a thousand ranks fit on a page", async () => {
  const files = Array.from({ length: 1000 }, (_, rank) => [`rank${rank}.json`,
    Buffer.from(kineto(4).toString().replace('"rank":0', `"rank":${rank}`).replace('"world_size":1', '"world_size":1000'))]);
  const many = (await s.upload("many", tar(files), { headers: { Prefer: "wait=25" } })).json.id;
  assert.equal((await s.settled(many)).captures, 1000);
  for (const accept of ["text/html", "text/markdown"]) {
    const { status, body } = await report(many, accept);
    assert.equal(status, 200);
    assert.ok(body.length < 100000, `${body.length} bytes`);
    assert.match(body.toString(), /The 50 longest of 1000\./);
  }
});

test("a failed profile has no report", async () => {
  const failed = await s.upload("broken", Buffer.from("no profile"));
  assert.equal(failed.status, 422);
  const { items } = (await s.get("/v1/profiles")).json;
  assert.equal((await report(items.find((p) => p.state === "failed").id, "text/html")).status, 422);
});
