// profiler/read/formats.md and the sources say the same: formats, codes of warnings, codes of errors.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { tracked } from "../lint/source.mjs";

const page = readFileSync("profiler/read/formats.md", "utf8");
const sources = tracked(/^profiler\/.*\.c$/).map((path) => ({ path, text: readFileSync(path, "utf8") }));

// The first column of the table under a heading.
function column(heading) {
  const part = page.split(`## ${heading}\n`)[1]?.split(/^## /m)[0];
  assert.ok(part, `no chapter ${heading}`);
  return [...part.matchAll(/^\| `([^`]+)` \|/gm)].map(([, code]) => code).sort();
}

const unique = (list) => [...new Set(list)].sort();
const CODE = /^[a-z]+(_[a-z0-9]+)+$|^(empty|encrypted|truncated|contradiction|inconsistent)$/;

// Literals that look like codes in the calls of a function.
function codes_in(text, name) {
  const calls = text.matchAll(new RegExp(`(?<![\\w])${name}\\(((?:[^;"]|"(?:\\\\.|[^"\\\\])*")*?);`, "g"));
  return [...calls].flatMap(([, body]) => [...body.matchAll(/"((?:\\.|[^"\\])*)"/g)].map(([, text]) => text).filter((text) => CODE.test(text)));
}

// Functions that hand a code on: those with a parameter of this name. Not static ones are called from everywhere.
function wrappers(parameter) {
  const global = [], local = new Map();
  for (const { path, text } of sources) {
    const own = [];
    for (const [, kind, name] of text.matchAll(new RegExp(`^(static )?[\\w \\*]*?\\b(\\w+)\\([^;{}()]*?const char \\*${parameter}\\b[^;{}()]*\\)\\s*\\{`, "gm")))
      if (!/^(is|has)_/.test(name)) (kind ? own : global).push(name);
    local.set(path, own);
  }
  return (path) => [...global, ...local.get(path)];
}

const formats = [...readFileSync("profiler/profile.c", "utf8").matchAll(/\[FORMAT_\w+\] = \{\s*\.name = "([^"]+)"/g)].map(([, name]) => name);

test("each format has its row, and each row its format", () => {
  assert.ok(formats.length >= 11);
  assert.deepEqual(column("Formats"), [...formats].sort());
});

test("the page names each format", async () => {
  const { FORMATS } = await import("../../web/app/labels.js");
  assert.deepEqual(Object.keys(FORMATS).sort(), [...formats, "mixed"].sort());
});

test("each warning has its row, and each row its warning", () => {
  const of = wrappers("code");
  const codes = sources.flatMap(({ path, text }) => unique([...of(path), "warnings_add"]).flatMap((name) => codes_in(text, name)));
  assert.deepEqual(column("Warnings"), unique(codes));
});

test("each error of reading has its row, and each row its error", () => {
  const of = wrappers("word");
  const codes = sources.filter(({ path }) => path.startsWith("profiler/read/")).flatMap(({ path, text }) => [
    ...of(path).flatMap((name) => codes_in(text, name)),
    ...[...text.matchAll(/sb_fail(?:_at)?\(\s*[^,"]+,\s*([^,"]+),\s*"([a-z_]+)"/g)].filter(([, code]) => /SB_EFORMAT|SB_ELIMIT/.test(code)).map(([, , word]) => word),
  ]).filter((code) => code !== "no_memory");
  assert.deepEqual(column("Errors"), unique(codes));
});
