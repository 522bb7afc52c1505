// The iterations and queues of a made-up job, as the service tells them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { GENERATE } from "../support/service.mjs";
import { kineto } from "./inputs.mjs";
import { Service } from "./service.mjs";

const place = mkdtempSync(join(tmpdir(), "signalbox-pipeline-"));
let s;
before(async () => { s = await Service.start(); });
after(async () => { await s.stop(); rmSync(place, { recursive: true, force: true }); });

test("iterations and queues agree with what was made", async () => {
  for (const fault of ["healthy", "io.reading"]) {
    const job = join(place, fault);
    execFileSync(GENERATE, ["mindinsight", "--ranks", "2", "--fault", fault, "--truth", `${job}.truth`, job]);
    const truth = JSON.parse(readFileSync(`${job}.truth`, "utf8"));
    const { json: profile } = await s.upload(fault, execFileSync("tar", ["-C", job, "-c", "profiler"], { maxBuffer: 1 << 26 }));
    const { status, json } = await s.get(`/v1/profiles/${profile.id}/input-pipeline`);
    assert.equal(status, 200);
    const ns = (us) => Math.round(us * 1000);
    const told = json.iterations.map((i) => [i.rank, i.step, ns(i.total_us), ns(i.interval_us), ns(i.forward_backward_us), ns(i.tail_us)]);
    assert.deepEqual(told, truth.ranks.flatMap((r) => r.steps.map((i) =>
      [r.rank, i.step, i.breakdown.step_ns, i.interval_ns, i.forward_backward_ns, i.tail_ns])));
    for (const rank of truth.ranks)
      for (const wanted of rank.queues) {
        const queue = json.queues.find((q) => q.rank === rank.rank && q.name === wanted.name);
        assert.equal(queue.kind, wanted.name === "get_next" ? "device" : "host");
        assert.deepEqual([queue.samples, queue.empty, queue.full], [wanted.samples, wanted.empty, wanted.full < 0 ? null : wanted.full]);
        assert.ok(Math.abs(queue.mean_size - wanted.sum / wanted.samples) < 1e-9);
      }
    const reader = json.queues.find((q) => q.kind === "operator" && q.name === "TFReader");
    assert.deepEqual([reader.operator, reader.parent, reader.workers, reader.capacity, reader.empty], [1, 0, 8, 64, fault === "io.reading" ? 2 : 0]);
  }
});

test("a capture without a pipeline has empty lists", async () => {
  const { json: profile } = await s.upload("kineto", kineto(10));
  assert.deepEqual((await s.get(`/v1/profiles/${profile.id}/input-pipeline`)).json, { iterations: [], bounds: [], queues: [] });
});
