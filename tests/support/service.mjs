// Starts the built program for a test, on a free port and with a data directory of its own.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export const PROGRAM = process.env.SIGNALBOX ?? resolve("build/signalbox");
export const GENERATE = process.env.SIGNALBOX_GENERATE ?? resolve("build/generate");

// args replaces "serve --listen … --data …"; DATA in it becomes the data directory. Resolves to {url, data, child, stop}.
export function start(args = ["serve", "--listen", "127.0.0.1:0", "--data", "DATA"]) {
  const data = mkdtempSync(join(tmpdir(), "signalbox-"));
  const child = spawn(PROGRAM, args.map((arg) => (arg === "DATA" ? data : arg)), { stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  child.stderr.on("data", (bytes) => (log += bytes));
  const ended = new Promise((done) => child.on("close", (code, signal) => done({ code, signal })));
  const stop = async () => {
    child.kill("SIGTERM");
    const result = await ended;
    rmSync(data, { recursive: true, force: true });
    return { ...result, log };
  };
  return new Promise((done, fail) => {
    let seen = "";
    const timer = setTimeout(() => fail(new Error(`the service does not start: ${seen}${log}`)), 30000);
    child.on("error", fail);
    ended.then(() => fail(new Error(`the service ended: ${seen}${log}`)));
    child.stdout.on("data", (bytes) => {
      seen += bytes;
      const found = /listening on (http:\/\/\S+)/.exec(seen);
      if (!found) return;
      clearTimeout(timer);
      done({ url: found[1], data, child, stop });
    });
  });
}
