// From the form to the launch flags.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openPage } from './browser.mjs';
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

const MODEL = { layers: 32, hidden: 4096, heads: 32, ffn_hidden: 11008, gated_ffn: true, vocab: 32000, seq_len: 4096 };
const cluster = (nodes) => ({ nodes, devices_per_node: 8, device: 'a100-80g', links: [
  { scope: 'node', bytes_per_second: 3e11 }, { scope: 'cluster', bytes_per_second: 2.5e10 }] });

async function fill(page, model, machines, sequences) {
  await page.getByLabel('Model', { exact: true }).selectOption('own, as JSON');
  await page.getByLabel('Model as JSON').fill(JSON.stringify(model));
  await page.getByLabel('Cluster', { exact: true }).selectOption('own, as JSON');
  await page.getByLabel('Cluster as JSON').fill(JSON.stringify(machines));
  await page.getByLabel('Sequences a step').fill(String(sequences));
  await page.getByRole('button', { name: 'Find the best plan' }).click();
}
const planned = (page) => page.waitForURL(/#\/plans\/(?!new).+/, { timeout: 30000 });
const stored = async (page) => (await fetch(`${service.url}/v1/plans/${decodeURIComponent(new URL(page.url()).hash.split('/')[2])}`)).json();

test('a plan shows its degrees, times, memory and why others lose', async () => {
  const { page, close } = await openPage(browser, service.url, { path: '/#/plans/new' });
  await fill(page, MODEL, cluster(2), 256);
  await planned(page);
  await page.locator('#strategy').waitFor();
  const plan = await stored(page);
  const degrees = await page.locator('.degrees').innerText();
  for (const name of ['dp', 'tp', 'pp'])
    assert.match(degrees, new RegExp(`${name}\\s+${plan.solution[name]}\\b`));
  const big = await page.locator('.bigs').innerText();
  assert.match(big, /Step time, predicted\s+[\d.,]+\s(s|ms)/);
  assert.match(big, new RegExp(`MFU\\s+${(plan.predicted.mfu * 100).toFixed(1)}\\s%`));
  const parts = Object.values(plan.predicted.memory).filter((v) => v > 0).length;
  assert.equal(await page.locator('#memory-split li').count(), parts);
  assert.ok(await page.locator('#time-split li').count() >= 2);
  assert.ok(plan.alternatives.length > 0);
  assert.equal(await page.getByRole('region', { name: 'Alternatives' }).locator('tbody tr').count(), Math.min(20, plan.alternatives.length));
  await close();
});

const colorsOf = (chart) => chart.locator('canvas').evaluate((canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) seen.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
  return [...seen];
});

test('the frontier is drawn, and told in a table', async () => {
  const { page, close } = await openPage(browser, service.url, { path: '/#/plans/new' });
  await fill(page, MODEL, cluster(2), 256);
  await planned(page);
  const chart = page.locator('.chart[data-drawn=yes]');
  await chart.waitFor();
  const plan = await stored(page);
  const colors = await colorsOf(chart);
  assert.ok(colors.includes('47,111,176'), 'points of the frontier');
  assert.ok(colors.includes('188,75,18'), 'the chosen plan');
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.locator('.point .number').first().waitFor();
  assert.match(await page.locator('.point').innerText(), /(s|ms) at [\d.,]+\s[GMT]B: dp\d+/);
  await page.locator('#frontier summary').click();
  assert.equal(await page.locator('#frontier tbody tr').count(), Math.min(20, plan.frontier.length));
  await close();
});

test('the chosen plan is drawn where it needs the most memory of all', async () => {
  const { page, context, close } = await openPage(browser, service.url, { path: '/#/plans/new' });
  await fill(page, MODEL, cluster(2), 256);
  await planned(page);
  const plan = await stored(page);
  // the frontier's last point is the chosen plan, and nothing needs more
  const { memory_bytes: bytes, step_seconds: seconds } = plan.predicted;
  const told = { ...plan, alternatives: [], frontier: [{ bytes, seconds, solution: plan.solution }, { bytes: bytes / 2, seconds: seconds * 2, solution: plan.solution }] };
  await context.route(`**/v1/plans/${plan.id}`, (route) => route.fulfill({ json: told }));
  await page.reload();
  const chart = page.locator('.chart[data-drawn=yes]');
  await chart.waitFor();
  assert.ok((await colorsOf(chart)).includes('188,75,18'));
  await close();
});

test('the flags are those of the service, and can be copied', async () => {
  const { page, context, close } = await openPage(browser, service.url, { path: '/#/plans/new' });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await fill(page, MODEL, cluster(2), 256);
  await planned(page);
  const flags = page.locator('#export .flags');
  await flags.waitFor();
  const plan = await stored(page);
  const answer = await (await fetch(`${service.url}/v1/plans/${plan.id}/export?format=megatron`)).text();
  assert.match(answer, new RegExp(`--tensor-model-parallel-size[ =]${plan.solution.tp}\\b`));
  assert.equal((await flags.innerText()).trim(), answer.trim());
  await page.locator('#export').getByRole('button', { name: 'Copy' }).click();
  await page.getByText('Copied').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), answer);
  // every launcher that the page offers is one that the service has
  const choice = page.locator('#export select');
  const formats = await choice.locator('option').evaluateAll((options) => options.map((option) => option.value));
  assert.deepEqual(formats, ['megatron', 'mindspeed', 'deepspeed', 'mindformers', 'torchtitan', 'env']);
  for (const format of formats) {
    await choice.selectOption(format);
    const text = await (await fetch(`${service.url}/v1/plans/${plan.id}/export?format=${format}`)).text();
    await page.waitForFunction((wanted) => document.querySelector('#export .flags')?.textContent.trim() === wanted, text.trim());
  }
  await close();
});

test('what does not fit says how much would do', async () => {
  const { page, close } = await openPage(browser, service.url, { path: '/#/plans/new', expect: [422] });
  await fill(page, { ...MODEL, layers: 128, hidden: 16384, heads: 128, ffn_hidden: 65536 }, { ...cluster(1), devices_per_node: 1 }, 8);
  const problem = page.getByRole('alert');
  await problem.waitFor();
  const text = await problem.innerText();
  assert.match(text, /No plan fits/);
  assert.match(text, /Least memory found\s+[\d.,]+\s[GT]B/);
  assert.match(text, /Nearest change that fits/);
  assert.equal(await page.getByLabel('Sequences a step').inputValue(), '8', 'the form keeps what was typed');
  await close();
});

test('a mistake in the form is told before anything is sent', async () => {
  const { page, close } = await openPage(browser, service.url, { path: '/#/plans/new' });
  await page.getByLabel('Model', { exact: true }).selectOption('own, as JSON');
  await page.getByLabel('Model as JSON').fill('{"layers": 32,');
  await page.getByRole('button', { name: 'Find the best plan' }).click();
  assert.match(await page.getByRole('alert').innerText(), /Model: this is not JSON/);
  await close();
});

test('presets can be used as they are, and as a start; the list remembers', async () => {
  const { page, close } = await openPage(browser, service.url, { path: '/#/plans/new' });
  await page.getByText('Llama 3 (arXiv:2407.21783), table 3').waitFor();
  await page.getByLabel('Cluster', { exact: true }).selectOption('dgx-a100-80g');
  await page.getByText('DGX A100 (Selene): 8 devices').waitFor();
  await page.getByRole('button', { name: 'Edit as JSON' }).first().click();
  const model = JSON.parse(await page.getByLabel('Model as JSON').inputValue());
  assert.ok(model.layers > 0 && model.hidden > 0);
  assert.equal(model.preset, undefined);
  await page.goto(`${service.url}/#/plans`);
  const row = page.locator('.row').first();
  await row.waitFor();
  assert.match(await row.innerText(), /own model on own cluster · 256 sequences a step/);
  assert.match(await row.innerText(), /dp\d+ tp\d+ pp\d+/);
  await row.getByRole('link').click();
  await page.locator('#strategy').waitFor();
  await close();
});

test('a preset cluster takes a number of nodes, and a constraint narrows the search', async () => {
  const { page, close } = await openPage(browser, service.url, { path: '/#/plans/new', expect: [422] });
  await page.getByLabel('Model', { exact: true }).selectOption('llama3-8b');
  await page.getByLabel('Cluster', { exact: true }).selectOption('dgx-h100');
  await page.getByLabel('Nodes').fill('4');
  await page.getByText('= 32 devices').waitFor();
  await page.getByText('Constraints', { exact: true }).click();
  await page.getByLabel('TP', { exact: true }).fill('4');
  await page.getByLabel('Recompute').selectOption('full');
  await page.getByRole('button', { name: 'Find the best plan' }).click();
  await planned(page);
  await page.getByRole('heading', { level: 1, name: /llama3-8b on dgx-h100 × 4/ }).waitFor();
  const plan = await stored(page);
  assert.equal(plan.solution.tp, 4);
  assert.equal(plan.solution.recompute, 'full');
  assert.ok(plan.solution.devices_used <= 32);
  await close();
});

test('what waits on the host and the grid of tensor ranks are told in words', async () => {
  const { page, close } = await openPage(browser, service.url, { path: '/#/plans', expect: [422] });
  const fact = (name) => page.locator('#strategy dl.facts div').filter({ has: page.getByText(name, { exact: true }) }).locator('dd').innerText();
  const open = async (more) => {
    const answer = await fetch(`${service.url}/v1/plans`, { method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ kind: 'strategy', model: MODEL, batch: { global_sequences: 64 }, ...more }) });
    assert.equal(answer.status, 201);
    await page.goto(`${service.url}/#/plans/${(await answer.json()).id}`);
    await page.locator('#strategy').waitFor();
  };
  await open({ cluster: cluster(2), constraints: { tp: 8, tensor: '2d', tp_x: 2 } });
  assert.equal(await fact('Tensor grid'), '2×4');
  assert.equal(await fact('Offload'), 'none');
  // 6.7e9 parameters take 18 bytes each, 12 of them the optimizer's: a device of 80 GB has no room for 121
  await open({ cluster: { ...cluster(1), devices_per_node: 1, host_memory_bytes: 1e12, host_link_bytes_per_second: 2e10 }, constraints: { offload: 'optimizer' } });
  assert.match(await fact('Offload'), /^optimizer( [\d.]+\s%)?$/);
  await page.goto(`${service.url}/#/plans`);
  await page.getByText(/tp8 .*grid 2×4/).waitFor();
  await page.getByText(/dp1 .*offload optimizer/).waitFor();
  await close();
});

test('any kind can be asked for by its problem as JSON', async () => {
  const { page, close } = await openPage(browser, service.url, { path: '/#/plans/new', expect: [400, 422] });
  const { items } = await (await fetch(`${service.url}/v1/plan-kinds`)).json();
  const kinds = page.getByLabel('Kind', { exact: false }).first();
  await kinds.waitFor();
  assert.deepEqual(await kinds.locator('option').evaluateAll((all) => all.map((o) => o.value)), items.map((k) => k.kind));
  await kinds.selectOption('schedule');
  const problem = page.getByLabel('Problem as JSON');
  assert.equal(JSON.parse(await problem.inputValue()).schedule, 'zb-h1');
  await problem.fill('[1]');
  await page.getByRole('button', { name: 'Make the plan' }).click();
  assert.match(await page.getByRole('alert').innerText(), /an object is needed/);
  await problem.fill('{"schedule": "<img src=x onerror=alert(1)>", "stages": 2, "micro_batches": 3, "forward": 1}');
  await page.getByRole('button', { name: 'Make the plan' }).click();
  await page.getByText('/schedule').first().waitFor();
  assert.equal(await page.locator('main img').count(), 0);
  // a whole request wins over what was chosen
  await problem.fill(JSON.stringify({ kind: 'gradient-fusion', gradients: [{ bytes: 10, backward_seconds: 1 }], cost: { latency_seconds: 1, bytes_per_second: 10 } }));
  await page.getByRole('button', { name: 'Make the plan' }).click();
  await planned(page);
  assert.equal((await stored(page)).kind, 'gradient-fusion');
  for (const kind of ['schedule', 'pipeline']) {
    await page.goto(`${service.url}/#/plans/new`);
    await kinds.selectOption(kind);
    await page.getByRole('button', { name: 'Make the plan' }).click();
    await planned(page);
    await page.locator('#schedule canvas').waitFor();
    assert.equal((await stored(page)).kind, kind, 'the sample is a problem of its kind');
  }
  await close();
});

// Seconds of work: many experts on many devices, for many numbers of them.
const LONG = { model: 'deepseek-v3', cluster: { preset: 'dgx-h100', nodes: 2048 }, batch: { global_sequences: 15360 } };

// One search at a time, and each is told as a job at once: behind two others, that of the page is seen to take long on any machine.
async function busyService() {
  const busy = await startService(['--limit', 'plan_threads=1', '--limit', 'plan_wait_seconds=0']);
  for (const sequences of [3840, 1920]) {
    const answer = await fetch(`${busy.url}/v1/plans`, { method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ kind: 'scaling', ...LONG, batch: { global_sequences: sequences } }) });
    assert.equal(answer.status, 202);
  }
  return busy;
}

async function searchLong(page, sequences) {
  await page.getByLabel('Kind').selectOption('scaling');
  await page.getByLabel('Problem as JSON').fill(JSON.stringify({ ...LONG, batch: { global_sequences: sequences } }));
  await page.getByRole('button', { name: 'Make the plan' }).click();
}

test('a long search shows that it runs, and can be canceled', async (t) => {
  const busy = await busyService();
  t.after(() => busy.stop());
  const { page, close } = await openPage(browser, busy.url, { path: '/#/plans/new' });
  await searchLong(page, 15360);
  const cancel = page.getByRole('button', { name: 'Cancel' });
  await cancel.waitFor({ timeout: 30000 });
  assert.match(await page.getByRole('status').innerText(), /Searching for \d+ s|Waiting for other searches/);
  assert.ok(await page.getByRole('progressbar', { name: 'Search' }).isVisible());
  assert.ok(await page.getByRole('button', { name: 'Searching…' }).isDisabled());
  await cancel.click();
  await page.getByRole('button', { name: 'Make the plan' }).waitFor({ timeout: 30000 });
  assert.equal(await page.getByRole('alert').count(), 0, 'who canceled need not be told');
  assert.match(page.url(), /#\/plans\/new$/);
  await close();
});

test('a search goes on when the form is left, and does not pull the page back', async (t) => {
  const busy = await busyService();
  t.after(() => busy.stop());
  const { page, close } = await openPage(browser, busy.url, { path: '/#/plans/new' });
  await searchLong(page, 7680);
  await page.getByRole('button', { name: 'Cancel' }).waitFor({ timeout: 30000 });
  await page.goto(`${busy.url}/#/plans`);
  for (const end = Date.now() + 60000; Date.now() < end;) {
    const { items } = await (await fetch(`${busy.url}/v1/plans`)).json();
    if (items.some((plan) => plan.problem.batch?.global_sequences === 7680)) break;
    await page.waitForTimeout(200);
  }
  await page.waitForTimeout(2500); // longer than it waits between two questions
  assert.match(page.url(), /#\/plans$/);
  await page.reload();
  assert.match(await page.locator('.row').first().innerText(), /7,680 sequences a step/);
  await close();
});

test('the form of each kind starts from a problem that has a plan', async () => {
  const kinds = (await (await fetch(`${service.url}/v1/plan-kinds`)).json()).items.map(({ kind }) => kind).filter((kind) => kind !== 'strategy');
  assert.ok(kinds.length >= 12);
  const { page, close } = await openPage(browser, service.url, { path: '/#/plans/new' });
  for (const kind of kinds) {
    await page.goto(`${service.url}/#/plans/new`);
    await page.getByLabel('Kind').selectOption(kind);
    await page.getByRole('button', { name: 'Make the plan' }).click();
    await planned(page).catch((error) => { throw new Error(`${kind}: ${error.message}`); });
    assert.equal((await stored(page)).kind, kind);
  }
  await close();
});

test('chunks that differ, idle devices, and where seconds and bytes go', async () => {
  // 30 layers on 4 x 8 chunks, as Llama 3 does it: the first chunk has the embedding alone, the last the head; 32 of 40 devices
  const problem = { kind: 'estimate', model: { ...MODEL, layers: 30 }, cluster: cluster(5), batch: { global_sequences: 16 },
    strategy: { dp: 1, tp: 8, pp: 4, vpp: 8, micro_batch: 1, sequence_parallel: true } };
  const made = await (await fetch(`${service.url}/v1/plans`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(problem) })).json();
  const { page, close } = await openPage(browser, service.url, { path: `/#/plans/${made.id}` });
  await page.locator('#explanation').waitFor();
  assert.match(await page.locator('#strategy').innerText(), /Devices\s+32 of 40/);
  await page.locator('#stages summary').click();
  const cells = (row) => row.locator('td').allInnerTexts();
  const rows = await page.locator('#stages tbody tr').all();
  assert.deepEqual(await cells(rows[0]), ['0', '7', 'none, 3, 7, 11, 15, 19, 23, 27', 'none']);
  assert.deepEqual(await cells(rows[1]), ['1', '8', '0, 4, 8, 12, 16, 20, 24, 28', 'none']);
  assert.deepEqual(await cells(rows[3]), ['3', '7', '2, 6, 10, 14, 18, 22, 26, none', 'none']);
  const { stages, traffic } = made.explanation;
  const spent = page.getByRole('region', { name: 'Time and memory by stage' }).locator('tbody tr');
  assert.deepEqual((await Promise.all((await spent.all()).map(cells))).map((c) => c[0]), ['0', '1–2', '3']);
  assert.equal(stages.length, 3);
  const sent = page.getByRole('region', { name: 'What a device sends' }).locator('tbody tr');
  assert.deepEqual((await Promise.all((await sent.all()).map(cells))).map((c) => c.slice(0, 3)), [['Tensor ranks', '8', '8'], ['Stages', '4', '1'], ['Gradients and weights', '8', '8']]);
  assert.equal(traffic.length, 3); // one replica: the gradients of norms, over the tensor ranks
  // 20 devices on four of each of five nodes, the other four idle
  const part = { ...problem, model: MODEL, strategy: { dp: 1, tp: 4, pp: 5, micro_batch: 1, devices_per_node: 4 } };
  const idle = await (await fetch(`${service.url}/v1/plans`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(part) })).json();
  await page.goto(`${service.url}/#/plans/${idle.id}`);
  await page.getByText('20 of 40, 4 of each node').waitFor();
  await close();
});
