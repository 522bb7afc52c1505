// Talks to the real program: requests held against the contract, uploads, waiting.
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import { PROGRAM, start } from "../support/service.mjs";
import { checkAnswer } from "./schema.mjs";

export { PROGRAM, temporary } from "../support/service.mjs";
// A loaded machine with sanitizers is slow: nothing here is asserted tighter than this.
export const PATIENCE_MS = 60000;

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Runs the program to its end. Never rejects: { code, signal, stdout, stderr }.
export function run(args, { input, env } = {}) {
  return new Promise((done) => {
    const child = spawn(PROGRAM, args, { env: { ...process.env, ...env } });
    const out = [], err = [];
    child.stdout.on("data", (d) => out.push(d));
    child.stderr.on("data", (d) => err.push(d));
    child.stdin.on("error", () => {});
    child.stdin.end(input ?? "");
    child.on("close", (code, signal) =>
      done({ code, signal, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() }));
  });
}

export class Service {
  // options: dir (kept by the caller), listen, args (more arguments), limits ({name: value}), t (the test that
  // owns it: when it fails, the service ends with it)
  static async start({ dir, listen, args = [], limits = {}, t } = {}) {
    const s = new Service();
    const bounds = Object.entries({ plan_wait_seconds: 25, ...limits }).flatMap(([name, value]) => ["--limit", `${name}=${value}`]);
    s.patient = limits.plan_wait_seconds === undefined;
    s.process = await start({ dir, listen, args: [...args, ...bounds] });
    t?.after(() => { s.child.kill("SIGKILL"); s.process.remove(); });
    Object.assign(s, { url: s.process.url, dir: s.process.dir, child: s.process.child, ended: s.process.ended });
    const found = /^http:\/\/(.+):(\d+)$/.exec(s.url);
    s.host = found[1].replace(/^\[|\]$/g, "");
    s.port = Number(found[2]);
    s.authority = s.url.slice("http://".length);
    s.agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
    return s;
  }

  get stderr() {
    return this.process.log();
  }

  // One request. Resolves to { status, headers, body, json }; rejects when there is no answer.
  // The answer is held against /openapi.json unless check is false.
  async request(method, target, { headers = {}, body, agent, check = true, timeout = PATIENCE_MS } = {}) {
    const answer = await new Promise((done, failed) => {
      const req = http.request({ host: this.host, port: this.port, method, path: target, headers, timeout,
        agent: agent ?? this.agent }, (res) => {
        const parts = [];
        res.on("data", (d) => parts.push(d));
        res.on("error", failed);
        res.on("end", () => {
          const bytes = Buffer.concat(parts);
          done({ status: res.statusCode, headers: res.headers, body: bytes });
        });
      });
      req.on("timeout", () => req.destroy(new Error("no answer in time")));
      req.on("error", failed);
      if (body && typeof body.pipe === "function") body.pipe(req);
      else req.end(body);
    });
    if (/json/.test(answer.headers["content-type"] ?? "") && answer.body.length && method !== "HEAD" &&
        !answer.headers["content-encoding"])
      answer.json = JSON.parse(answer.body.toString());
    if (check) await checkAnswer(this, method, target, answer);
    return answer;
  }

  get(target, options) {
    return this.request("GET", target, options);
  }

  // A plan is waited for, however slow the machine, unless the test says how long: a job is joined until it ends.
  async post(target, value, options = {}) {
    const patient = this.patient && target === "/v1/plans" && !options.headers?.Prefer;
    const ask = () => this.request("POST", target, {
      ...options,
      headers: { "Content-Type": "application/json", ...options.headers },
      body: JSON.stringify(value),
    });
    let answer = await ask();
    for (const end = Date.now() + 3 * PATIENCE_MS; patient && answer.status === 202 && Date.now() < end;) {
      answer = await ask();
      if (answer.status === 200) answer.status = 201; // it ended between the two
    }
    return answer;
  }

  // Uploads a raw body and waits for the end of its reading.
  upload(name, bytes, { headers = {}, ...rest } = {}) {
    return this.request("POST", `/v1/profiles?name=${encodeURIComponent(name)}`, {
      ...rest,
      headers: { "Content-Type": "application/octet-stream", Prefer: "wait=25", ...headers },
      body: bytes,
    });
  }

  // Waits until a profile is ready or failed.
  async settled(id) {
    for (const end = Date.now() + PATIENCE_MS; ;) {
      const { json } = await this.get(`/v1/profiles/${id}`);
      if (json.state === "ready" || json.state === "failed") return json;
      if (Date.now() > end) throw new Error(`profile ${id} is still ${json.state}`);
      await sleep(50);
    }
  }

  async profiles() {
    const all = [];
    for (let cursor = null; ;) {
      const { json } = await this.get(`/v1/profiles?limit=100${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
      all.push(...json.items);
      cursor = json.next_cursor;
      if (!cursor) return all;
    }
  }

  fds() {
    return fs.readdirSync(`/proc/${this.child.pid}/fd`).length;
  }

  signal(name) {
    this.child.kill(name);
    return this.ended;
  }

  // Ends the service gracefully and removes its data. Throws when it did not end well (sanitizers report so).
  async stop() {
    this.agent.destroy();
    const running = this.child.exitCode === null && this.child.signalCode === null;
    const end = await this.process.stop();
    if (running && end.code !== 0) throw new Error(`the service ended with ${JSON.stringify(end)}:\n${this.stderr.slice(-4000)}`);
  }

  clean() {
    this.process.remove();
  }
}
