// The rules of the house, as tests: who may include whom, headers, banned functions, lengths.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { code_only, functions_of, tracked } from "./source.mjs";

const run = promisify(execFile);
const sources = tracked(/\.[ch]$/);
const headers = sources.filter((path) => path.endsWith(".h"));
const rooms = sources.filter((path) => !path.startsWith("tests/"));

// One direction, top to bottom. A room may include its own headers and those that match.
const ROOMS = {
  base: [],
  profiler: [/^base\//],
  planner: [/^base\//],
  storage: [/^base\//],
  web: [],
  api: [/^base\//, /^profiler\//, /^planner\//, /^storage\/store\.h$/, /^web\/assets\.h$/],
  server: [/^base\//, /^api\//, /^storage\//],
};

// Where a library may be used. The calls of the API hold a lock against each other, and storage has a writer
// thread; the side files are mapped, and that of the operators carries zlib's checksum.
const LIBRARIES = [
  [/^microhttpd\.h$/, [/^server\//]],
  // what starts the ILP solver gives it back its signals
  [/^signal\.h$/, [/^server\//, /^api\/plans\/cbc\.c$/]],
  [/^pthread\.h$/, [/^server\//, /^storage\//, /^api\/internal\.h$/]],
  [/^jansson\.h$/, [/^api\//]],
  [/^curl\//, [/^server\//]],
  [/^(gnutls\/|openssl\/)/, [/^storage\//]],
  [/^sqlite3\.h$/, [/^storage\//, /^profiler\/read\//]],
  [/^(zlib|archive|archive_entry)\.h$/, [/^profiler\/read\//, /^profiler\/blockfile\.c$/, /^api\/encoding\.c$/]],
  [/^sys\/mman\.h$/, [/^profiler\/read\//, /^profiler\/(block|chunk)file\.c$/, /^storage\//]],
  [/^(time|sys\/time)\.h$/, [/^base\//, /^storage\//, /^server\//, /^api\//]],
];

const BANNED = ["sprintf", "vsprintf", "strcpy", "strcat", "gets", "strtok", "atoi", "atol", "atof", "system", "popen",
  "rand", "srand", "tmpnam", "mktemp"];

function includes(path) {
  return [...readFileSync(path, "utf8").matchAll(/^\s*#\s*include\s*(["<])([^">]+)[">]/gm)]
    .map(([, kind, name]) => ({ own: kind === '"', name }));
}

// Headers are named from the top of the tree, or by their bare name within one folder.
function resolve_own(path, name) {
  const beside = join(dirname(path), name);
  return !existsSync(name) && existsSync(beside) ? beside : name;
}

test("a room includes only what lies below it", () => {
  const wrong = [];
  for (const path of rooms) {
    const room = path.split("/")[0];
    assert.ok(ROOMS[room], `${path}: no such room in the table`);
    for (const { own, name } of includes(path)) {
      if (!own) continue;
      const target = resolve_own(path, name);
      if (target.startsWith(`${room}/`) || ROOMS[room].some((allowed) => allowed.test(target))) continue;
      wrong.push(`${path} includes ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test("a library is used in its own rooms only", () => {
  const wrong = [];
  for (const path of rooms)
    for (const { own, name } of includes(path))
      for (const [header, places] of LIBRARIES)
        if (!own && header.test(name) && !places.some((place) => place.test(path))) wrong.push(`${path} includes <${name}>`);
  assert.deepEqual(wrong, []);
});

test("threads are started by the server and by the writer of storage only", () => {
  const wrong = rooms.filter((path) => !path.startsWith("server/") && path !== "storage/writer.c" &&
    /\bpthread_create\b/.test(code_only(readFileSync(path, "utf8"))));
  assert.deepEqual(wrong, []);
});

test("the generator shares no code with the program", () => {
  const wrong = sources.filter((path) => path.startsWith("tests/generate/"))
    .flatMap((path) => includes(path).filter(({ own, name }) => own && !name.startsWith("tests/generate/")).map(({ name }) => `${path}: ${name}`));
  assert.deepEqual(wrong, []);
});

test("each header has a guard named after its path", () => {
  const wrong = headers.filter((path) => {
    const guard = `SB_${path.replace(/[^A-Za-z0-9]/g, "_").toUpperCase()}`;
    const text = readFileSync(path, "utf8");
    return !text.startsWith(`#ifndef ${guard}\n#define ${guard}\n`) || !text.trimEnd().endsWith("#endif");
  });
  assert.deepEqual(wrong, []);
});

test("each header compiles alone", async () => {
  const wrong = [];
  const queue = [...headers];
  const worker = async () => {
    for (let path = queue.shift(); path; path = queue.shift()) {
      try {
        await run(process.env.CC ?? "gcc", ["-fsyntax-only", "-std=gnu17", "-D_GNU_SOURCE", "-I.", "-Wall", "-Werror", "-x", "c",
          "-include", path, "/dev/null"]);
      } catch (error) {
        wrong.push(`${path}: ${error.stderr ?? error.message}`);
      }
    }
  };
  await Promise.all([worker(), worker()]);
  assert.deepEqual(wrong, []);
});

test("no banned function is called, and nothing jumps", () => {
  const banned = new RegExp(`(?<![\\w.>])(${BANNED.join("|")})\\s*\\(`, "g");
  const wrong = [];
  for (const path of sources) {
    code_only(readFileSync(path, "utf8")).split("\n").forEach((line, i) => {
      for (const [, name] of line.matchAll(banned)) wrong.push(`${path}:${i + 1}: ${name}`);
      if (/\bgoto\b/.test(line)) wrong.push(`${path}:${i + 1}: goto`);
    });
  }
  assert.deepEqual(wrong, []);
});

test("a file has at most 400 lines, a function at most 60", () => {
  const wrong = [];
  for (const path of sources) {
    const text = readFileSync(path, "utf8");
    const lines = text.split("\n").length - 1;
    if (lines > 400) wrong.push(`${path}: ${lines} lines`);
    for (const { name, line, length } of functions_of(text))
      if (length > 60) wrong.push(`${path}:${line}: ${name} has ${length} lines`);
  }
  assert.deepEqual(wrong, []);
});

test("npm packages run on the Node.js of Debian 12", () => {
  const wrong = [];
  for (const path of tracked(/package-lock\.json$/))
    for (const [name, { engines }] of Object.entries(JSON.parse(readFileSync(path, "utf8")).packages)) {
      const least = /^>=\s*(\d+)/.exec(engines?.node ?? "");
      if (least && Number(least[1]) > 18) wrong.push(`${path}: ${name} wants node ${engines.node}`);
    }
  assert.deepEqual(wrong, []);
});

test("nothing names a place of one machine", () => {
  // Spelt in pieces, so that this file does not find itself.
  const places = ["wo" + "rk/", "ro" + "ot/", "ho" + "me/[a-z]"].map((place) => new RegExp(`(?<![\\w.}])/${place}`));
  const wrong = [];
  for (const path of tracked(/./)) {
    if (/\.(png|ico|gz|zip|tar|bin|woff2)$/.test(path) || path.startsWith("tests/fuzz/corpus/") || /package-lock\.json$/.test(path)) continue;
    readFileSync(path, "utf8").split("\n").forEach((line, i) => {
      if (places.some((place) => place.test(line))) wrong.push(`${path}:${i + 1}: ${line.trim().slice(0, 100)}`);
    });
  }
  assert.deepEqual(wrong, []);
});
