// Streams that wait for one another by events, whose records the trace names: what a change of one stream does to the
// others is what the generator makes of the same job with that change.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { GENERATE } from "../support/service.mjs";
import { Service } from "./service.mjs";
import { tar } from "./inputs.mjs";

const place = mkdtempSync(join(tmpdir(), "signalbox-waits-"));
let s;
before(async () => { s = await Service.start(); });
after(async () => { await s.stop(); rmSync(place, { recursive: true, force: true }); });

// Copies of so many us each, on a stream of their own: kernels wait for them, and they wait for kernels.
function play(us, ...options) {
  const path = join(place, `job${us}`);
  rmSync(path, { recursive: true, force: true });
  execFileSync(GENERATE, ["kineto", "--units", "300", "--ranks", "2", "--steps", "4", ...options, "--prefetch", `${us}`, "--truth", `${path}.truth`, path]);
  const truth = JSON.parse(readFileSync(`${path}.truth`, "utf8"));
  return { step_us: truth.mean_step_ns / 1000, truth, files: readdirSync(path).map((name) => [name, readFileSync(join(path, name))]) };
}

const COPY = "Memcpy HtoD (Pageable -> Device)";

for (const options of [[], ["--shape", "experts"], ["--shape", "pipeline"], ["--noise", "10", "--seed", "5"]])
  test(`copies of other lengths, ${options.join(" ") || "data parallel"}`, async () => {
    const job = play(400, ...options), { json } = await s.upload("job", tar(job.files));
    assert.equal(json.state, "ready");
    for (const us of [50, 200, 800, 1600]) {
      const other = play(us, ...options);
      const answer = (await s.post(`/v1/profiles/${json.id}/replays`, { changes: [{ operator: COPY, factor: us / 400 }] })).json;
      const told = answer.replayed_step_us - answer.measured_step_us, truth = other.step_us - job.step_us;
      assert.ok(answer.unchanged_error < 0.02);
      assert.ok(Math.abs(told - truth) < 0.01 * job.step_us, `${us} us: ${told} of ${truth} us, a step of ${job.step_us} us`);
    }
  });
