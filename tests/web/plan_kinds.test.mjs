// Plans of every kind, as the page tells them: in words, figures and tables, never as raw JSON.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openPage, overflow } from './browser.mjs';
import { startService } from './service.mjs';

let service;
let browser;
before(async () => {
  service = await startService();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

const EVIL = '<img src=x onerror=alert(1)>';
const model = { layers: 8, hidden: 1024, heads: 16, ffn_hidden: 4096, vocab: 32000, seq_len: 1024 };
const cluster = { nodes: 1, devices_per_node: 4, device: 'a100-80g', links: [{ scope: 'node', bytes_per_second: 3e11 }] };
const asked = { model, cluster, batch: { global_sequences: 8 } };
const layers = [{ name: EVIL, count: 8, forward: 0.01, parameters_bytes: 1e9, activation_bytes: { none: 1e9, full: 1e8 } }];
const option = (name, seconds, memory_bytes) => ({ name, seconds, memory_bytes });
const PROBLEMS = [
  { kind: 'strategy', ...asked },
  { kind: 'estimate', ...asked, strategy: { tp: 2, dp: 2, zero: 1 } },
  { kind: 'scaling', ...asked },
  { kind: 'scaling', compute_seconds: 1, overhead_seconds: 0.05 },
  { kind: 'batch-schedule', model, cluster, batches: [8, 16, 32], noise_scale: [10, 50] },
  { kind: 'batch-schedule', method: 'joint', fixed_seconds: 0.1, seconds_per_sample: 5e-7, noise_scale: 2e6 },
  { kind: 'intra-operator', memory_bytes: 30e9, nodes: [{ name: EVIL, options: [option(EVIL, 0.01, 9e9), option('rows', 0.005, 2e10)] }] },
  { kind: 'pipeline', stages: 2, micro_batches: 4, memory_bytes: 3e10, layers },
  { kind: 'schedule', schedule: 'zb-h1', stages: 4, micro_batches: 8, forward: 1, backward: 1, weight_gradient: 1 },
  { kind: 'layer-memory', stages: 4, micro_batches: 8, runs: [[0, 8, 50e9], [3, 8, 34e9], [1, 8, 41.5e9], [2, 8, 35.5e9], [1, 9, 46.5e9], [2, 8, 29.9e9, { full: 4 }]]
    .map(([stage, n, peak_bytes, recompute]) => ({ stage, layers: n, peak_bytes, recompute })) },
  { kind: 'embedding-placement', ...asked, model: { ...model, tied_embedding: true }, strategy: { pp: 4 } },
  { kind: 'weight-pipeline', ...asked, batch: { global_sequences: 8, micro: 1 } },
  { kind: 'swap-or-pipeline', devices: 8, micro_batches: 2048, forward: 0.1, backward: 0.2, weights_bytes: 2.6e9, activation_bytes: 8388608, link: { bytes_per_second: 1.25e8 }, host_link: { bytes_per_second: 12e9 } },
  { kind: 'resharding', tensor: { shape: [64, 64], element_bytes: 4 }, from: { mesh: [2, 2], devices_per_host: 2, sharding: [0, null] }, to: { mesh: [2, 2], devices_per_host: 2, sharding: [null, 1] },
    nic: { bytes_per_second: 12.5e9, latency_seconds: 1e-5 }, local: { bytes_per_second: 3e11 } },
  { kind: 'gradient-fusion', gradients: [{ name: EVIL, bytes: 1e7, backward_seconds: 0.004 }, { name: 'b', bytes: 5e7, backward_seconds: 0.003 }], cost: [{ bytes: 1e6, seconds: 0.0006 }, { bytes: 1e8, seconds: 0.006 }] },
];

async function make(problem) {
  const answer = await fetch(`${service.url}/v1/plans`, { method: 'POST', headers: { 'Content-Type': 'application/json', Prefer: 'wait=20' }, body: JSON.stringify(problem) });
  const plan = await answer.json();
  assert.ok(answer.ok, JSON.stringify(plan));
  return plan;
}

test('each kind is told in words and tables', async () => {
  const { items } = await (await fetch(`${service.url}/v1/plan-kinds`)).json();
  assert.deepEqual(items.map((k) => k.kind).filter((kind) => !PROBLEMS.some((p) => p.kind === kind)), []);
  for (const [i, problem] of PROBLEMS.entries()) {
    const { page, close } = await openPage(browser, service.url, { path: `/#/plans/${(await make(problem)).id}` });
    await page.locator('main section').first().waitFor();
    const text = await page.locator('main').innerText();
    assert.doesNotMatch(text, /\[object|undefined|NaN|[{}]|"\w+":/, `${problem.kind}: ${text}`);
    assert.doesNotMatch(text, /\d\.\d{9}/, `${problem.kind}: a number as a machine writes it`);
    assert.equal(await overflow(page), null, problem.kind);
    assert.equal(await page.locator('main img').count(), 0);
    if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${i}-${problem.kind}.png`, fullPage: true });
    await close();
  }
});

test('an estimate is told as the plan of a strategy is', async () => {
  const plan = await make(PROBLEMS[1]);
  const { page, close } = await openPage(browser, service.url, { path: `/#/plans/${plan.id}` });
  await page.locator('#strategy').waitFor();
  assert.match(await page.locator('.degrees').innerText(), /dp\s+2[\s\S]*tp\s+2/);
  assert.match(await page.locator('.bigs').innerText(), /Step time, predicted\s+[\d.,]+\s(s|ms)[\s\S]*Memory a device\s+[\d.,]+\s[GM]B/);
  const { memory_bytes: holds } = await (await fetch(`${service.url}/v1/devices/${plan.problem.cluster.device}`)).json();
  await page.locator('.bigs', { hasText: new RegExp(`of ${holds / 1e9}\\sGB`) }).waitFor(); // a device by its name is looked up
  assert.equal(await page.locator('#memory-split li').count(), Object.values(plan.predicted.memory).filter((v) => v > 0).length);
  assert.ok(await page.locator('#time-split li').count() >= 2);
  assert.match(await page.locator('#export .flags').innerText(), /--tensor-model-parallel-size 2/);
  await close();
});

const headersOf = (page, caption) => page.getByRole('region', { name: caption, exact: true }).locator('th').allInnerTexts();

test('what is sent is no memory, and a slice is a range a dimension', async () => {
  const plan = await make(PROBLEMS.find((p) => p.kind === 'resharding'));
  const { page, close } = await openPage(browser, service.url, { path: `/#/plans/${plan.id}` });
  await page.locator('#result table').waitFor();
  const headers = await headersOf(page, 'Tasks');
  assert.ok(headers.some((h) => /^Size \(/.test(h)) && !headers.some((h) => /^Memory/.test(h)), headers.join());
  // a tensor of two dimensions
  assert.match(await page.locator('#result tbody tr').first().innerText(), /\[\d+, \d+\], \[\d+, \d+\]/);
  assert.match(await page.locator('#predicted').innerText(), /Busiest host\s+\d+\s+Busiest host, time\s+[\d.]+\s[mµ]?s/);
  assert.ok((await headersOf(page, 'Transfers')).some((h) => /^Lower bound \((ms|µs|s)\)/.test(h)));
  await close();
});

test('bytes of a whole plan are its memory, also part by part', async () => {
  const chosen = await make(PROBLEMS.find((p) => p.kind === 'intra-operator'));
  const first = await openPage(browser, service.url, { path: `/#/plans/${chosen.id}` });
  await first.page.locator('#frontier table').waitFor();
  assert.ok((await headersOf(first.page, 'Frontier')).some((h) => /^Memory \(/.test(h)));
  assert.match(await first.page.locator('#predicted').innerText(), /Memory\s+[\d.]+\sGB/);
  await first.close();
  const weights = await make(PROBLEMS.find((p) => p.kind === 'weight-pipeline'));
  const second = await openPage(browser, service.url, { path: `/#/plans/${weights.id}` });
  await second.page.locator('#predicted').waitFor();
  assert.match(await second.page.locator('#predicted').innerText(), /Weights\s+[\d.]+\s[kMG]B\s+Gradients\s+[\d.]+\s[kMG]B/);
  await second.close();
});
