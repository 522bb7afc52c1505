// README's table of the program is its help: the same commands, options and values, no more and no fewer.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { PROGRAM } from "../support/service.mjs";

const help = (...args) => spawnSync(PROGRAM, [...args, "--help"], { encoding: "utf8" }).stdout;
const commands = [...help().matchAll(/^ {2}signalbox (\w+) /gm)].map(([, name]) => name);
const helped = Object.fromEntries(commands.map((name) => [name, [...help(name).matchAll(/^ {2}(--\S+(?: \S+)?)(?: {2}|$)/gm)].map(([, option]) => option)]));

function tabled() {
  const out = {};
  const section = /^## The program\n([\s\S]*?)^## /m.exec(readFileSync("README.md", "utf8"))[1];
  let command;
  for (const row of section.split("\n").filter((line) => /^\| *(`|\|)/.test(line))) {
    const [first, second] = row.split(/(?<!\\)\|/).slice(1, 3).map((cell) => cell.trim().replaceAll("`", "").replaceAll("\\|", "|"));
    if (first) out[command = first.split(" ")[0]] = [];
    if (second) out[command].push(second);
  }
  return out;
}

test("README tells every option of every command, and no other", () => {
  assert.ok(commands.length >= 7);
  assert.deepEqual(tabled(), helped);
});

test("each option of a synopsis is explained", () => {
  for (const name of commands) {
    const synopsis = help(name).split("\n")[0];
    assert.deepEqual([...synopsis.matchAll(/--[\w-]+/g)].map(([word]) => word).sort(), helped[name].map((o) => o.split(" ")[0]).sort(), synopsis);
  }
});
