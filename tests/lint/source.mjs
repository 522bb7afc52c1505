// Small helpers to look at C source as text.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

function walk(directory) {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    if (/^(\.git|node_modules|build.*)$/.test(entry.name)) return [];
    const path = directory === "." ? entry.name : join(directory, entry.name);
    return entry.isDirectory() ? walk(path) : [path];
  });
}

// Files of the project whose path matches; those that git knows or could add, or all where there is no git.
export function tracked(pattern) {
  let paths;
  try {
    paths = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { encoding: "utf8", maxBuffer: 1 << 26 })
      .split("\n").filter((path) => path && existsSync(path));
  } catch {
    paths = walk(".");
  }
  return paths.filter((path) => pattern.test(path)).sort();
}

// The text with comments and the inside of strings blanked out; line numbers stay.
export function code_only(text) {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'/g,
    (found) => found.replace(/[^\n]/g, " "));
}

// Functions as clang-format lays them out: a brace in the first column opens, another closes.
export function functions_of(text) {
  const found = [];
  let name = "";
  let start = 0;
  code_only(text).split("\n").forEach((line, i) => {
    const head = /^[A-Za-z_].*?(\w+)\s*\(/.exec(line);
    if (head && !start) name = head[1];
    if (line === "{") start = i + 1;
    if (line === "}" && start) {
      found.push({ name, line: start, length: i - start });
      start = 0;
    }
  });
  return found;
}
