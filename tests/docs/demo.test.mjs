// `make demo` as a newcomer runs it: it ends, tells the address, and its service answers until it is stopped.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";

test("the demo shows breakdown, advice and a plan, and leaves the service running", async () => {
  const build = process.env.SIGNALBOX_BUILD ? basename(process.env.SIGNALBOX_BUILD) : "build";
  const demo = spawnSync(process.execPath, ["tests/demo.mjs"], { encoding: "utf8", env: { ...process.env, BUILD: build }, timeout: 120000 });
  assert.equal(demo.status, 0, demo.stdout + demo.stderr);
  const url = /^the page: +(http:\/\/127\.0\.0\.1:\d+)\/$/m.exec(demo.stdout)?.[1];
  const pid = Number(/^stop it: +kill (\d+)$/m.exec(demo.stdout)?.[1]);
  const place = /^its files: (\S+)/m.exec(demo.stdout)?.[1];
  assert.ok(url && pid && place, demo.stdout);
  try {
    assert.match(demo.stdout, /parallel\.poor_overlap/);
    assert.match(demo.stdout, /--tensor-model-parallel-size \d+/);
    const profiles = await (await fetch(`${url}/v1/profiles`)).json();
    assert.equal(profiles.items.length, 1);
    assert.equal(profiles.items[0].state, "ready");
    assert.deepEqual(profiles.items[0].ranks.map((rank) => rank.rank ?? rank), [0, 1, 2, 3]);
    const plans = await (await fetch(`${url}/v1/plans`)).json();
    assert.equal(plans.items.length, 1);
    assert.equal((await fetch(`${url}/`)).status, 200);
  } finally {
    process.kill(pid, "SIGTERM");
    for (let i = 0; i < 200; i++) {
      try {
        process.kill(pid, 0);
      } catch {
        break;
      }
      await new Promise((done) => setTimeout(done, 50));
    }
    rmSync(place, { recursive: true, force: true });
  }
  await assert.rejects(fetch(`${url}/livez`));
});
