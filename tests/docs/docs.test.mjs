// Every ```sh block of the documents runs, in order, from the top of the tree. Three kinds of line are special:
//   build/signalbox serve …   starts in the background on a free port; later blocks talk to that port instead
//   make TARGET …             is only checked to exist (a test of the demo is beside this one)
//   docker …, sudo …, git …   are left to the reader; files they name must exist
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { tracked } from "../lint/source.mjs";
import { start } from "../support/service.mjs";

const documents = tracked(/\.md$/);
const running = [];
after(async () => {
  for (const service of running) await service.stop();
});

function blocks(text) {
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => ({
    line: text.slice(0, match.index).split("\n").length + 1,
    commands: match[1],
  }));
}

// Lines that run as they are; the special ones are taken out and dealt with here.
async function prepare(commands, address) {
  const rest = [];
  for (const line of commands.replace(/\\\n\s*/g, " ").split("\n")) {
    const words = line.replace(/\s+#.*$/, "").trim().split(/\s+/);
    if (words[0] === "make") {
      const dry = spawnSync("make", ["-n", ...words.slice(1)], { encoding: "utf8" });
      assert.equal(dry.status, 0, `${line}\n${dry.stderr}`);
    } else if (["docker", "sudo", "git", "cd"].includes(words[0])) {
      for (const word of words.slice(1)) if (/^[\w.-]+\/[\w./-]+$/.test(word)) assert.ok(existsSync(word), `${line}: no ${word}`);
    } else if (words[0] === "build/signalbox" && words[1] === "serve") {
      const args = words.slice(1).filter((word) => word !== "&");
      const at = args.indexOf("--listen");
      if (at > 0) args[at + 1] = "127.0.0.1:0";
      else args.push("--listen", "127.0.0.1:0");
      const data = args.indexOf("--data");
      if (data > 0) args[data + 1] = "DATA";
      else args.push("--data", "DATA");
      args.push("--limit", "plan_wait_seconds=25"); // a loaded machine is slow
      const service = await start({ command: args });
      running.push(service);
      address.url = service.url;
    } else {
      rest.push(line);
    }
  }
  return rest.join("\n");
}

for (const document of documents) {
  const text = readFileSync(document, "utf8");
  const address = { url: "" };
  for (const { line, commands } of blocks(text)) {
    test(`${document}:${line}`, async () => {
      const script = (await prepare(commands, address)).trim();
      if (!script) return;
      if (script.includes("http://127.0.0.1:8080")) assert.ok(address.url, "no block above starts the service");
      const build = process.env.SIGNALBOX_BUILD;
      const here = script.replaceAll("http://127.0.0.1:8080", address.url).replace(/\bbuild\/(signalbox|generate)\b/g,
        (whole, program) => (build ? join(build, program) : whole));
      const result = spawnSync("bash", ["-euo", "pipefail", "-c", here], { encoding: "utf8", input: "", timeout: 120000 });
      assert.equal(result.status, 0, `${here}\n${result.stdout.slice(-2000)}\n${result.stderr.slice(-2000)}`);
    });
  }
}

test("links to files of the tree lead somewhere", () => {
  const wrong = [];
  for (const document of documents)
    for (const [, target] of readFileSync(document, "utf8").matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g))
      if (!/^[a-z]+:/.test(target) && !existsSync(join(dirname(document), target))) wrong.push(`${document}: ${target}`);
  assert.deepEqual(wrong, []);
});
