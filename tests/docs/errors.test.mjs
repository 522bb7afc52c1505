// api/errors.md and the sources say the same: each code of a problem has its row, and each row its code.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { tracked } from "../lint/source.mjs";

const rows = [...readFileSync("api/errors.md", "utf8").matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code);

// The third argument of what makes an error, one word or one of two, or what stands behind a status; the second of a launcher's refusal; the words of what cannot be run.
function codes() {
  const found = new Set();
  for (const path of tracked(/^(api|planner|storage|server)\/.*\.c$/))
    for (const [, third, second] of readFileSync(path, "utf8").matchAll(/\b(?:sb_fail|sb_fail_field|sb_fail_at|parse_fail|parse_unknown|api_problem)\(\s*[^,;]+,\s*[^,;]+,\s*([^,;]+),|(?:\b[45]\d\d|\blaunch_refuse\([^,;]+),\s*("\w+")/g))
      for (const [, code] of (third ?? second).matchAll(/"([a-z][a-z0-9_]*)"/g)) found.add(code);
  for (const [, code] of readFileSync("planner/strategy/strategy.c", "utf8").matchAll(/\[MISFIT_\w+\] =\s+\{"(\w+)"/g)) found.add(code);
  return [...found].sort();
}

test("codes of problems are those of the page, each once", () => {
  assert.ok(rows.length > 100);
  assert.deepEqual(rows, codes());
});
