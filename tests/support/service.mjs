// The built program and generator for all rings of tests, and the service on a free port with a folder of its own.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
export const PROGRAM = resolve(process.env.SIGNALBOX ?? join(root, "build/signalbox"));
export const GENERATE = resolve(process.env.SIGNALBOX_GENERATE ?? join(root, "build/generate"));

// A sanitizer build on a loaded machine takes its time.
const START_MS = 60000;

export function temporary(name = "signalbox-test-") {
  return mkdtempSync(join(tmpdir(), name));
}

// Starts the service; resolves once it listens. dir: kept by the caller, else made and removed by remove(). command: the
// whole command line where it is under test, "DATA" in it standing for the directory.
// Resolves to { url, dir, child, ended, log(), stop(), remove() }; ended resolves to { code, signal }.
export async function start({ dir, listen = "127.0.0.1:0", args = [], command } = {}) {
  const data = dir ?? temporary();
  const line = command?.map((word) => (word === "DATA" ? data : word)) ?? ["serve", "--listen", listen, "--data", data, ...args];
  const child = spawn(PROGRAM, line, { stdio: ["ignore", "pipe", "pipe"] });
  let out = "", log = "";
  child.stderr.on("data", (bytes) => (log += bytes));
  const ended = new Promise((done) => child.on("close", (code, signal) => done({ code, signal })));
  const remove = () => { if (!dir) rmSync(data, { recursive: true, force: true }); };
  const url = await new Promise((ready, failed) => {
    const timer = setTimeout(() => failed("does not start"), START_MS);
    child.on("error", failed);
    ended.then((end) => failed(`ended with ${JSON.stringify(end)}`));
    child.stdout.on("data", (bytes) => {
      out += bytes;
      const found = /^listening on (http:\/\/\S+)\n$/.exec(out);
      if (found) ready(found[1]);
      else if (out.includes("\n")) failed("printed something else");
      clearTimeout(timer);
    });
  }).catch((why) => {
    child.kill("SIGKILL");
    remove();
    throw new Error(`the service ${why}: ${out}${log}`);
  });
  const stop = async (signal = "SIGTERM") => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    const end = await ended;
    remove();
    return end;
  };
  return { url, dir: data, child, ended, log: () => log, stop, remove };
}
