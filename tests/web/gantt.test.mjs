// The schedule on the page of a plan: what is drawn, asked for and said.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { GROUPS, ROW, hit, operation, topOf } from '../../web/app/gantt_draw.js';
import { launch, openPage, overflow } from './browser.mjs';
import { startService } from './service.mjs';
import { MARKUP } from './trace.mjs';

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

// By hand: device 0 runs F 0-1, F 1-2, B 4-6, F 6-7, B 7-9, B 10-12; device 1 F 1-2, B 2-4, F 4-5, B 5-7, F 7-8, B 8-10.
const SMALL = { kind: 'schedule', schedule: '1f1b', stages: 2, micro_batches: 3, forward: 1, backward: 2 };
// Of 40 bytes 20 are for the parameters of two layers: the first stage cannot keep 4 * 2 * 4 more, and recomputes.
const CUT = { kind: 'pipeline', stages: 4, micro_batches: 8, memory_bytes: 40,
  layers: [{ name: MARKUP, count: 8, forward: 1, parameters_bytes: 10, activation_bytes: { none: 4, full: 1 } }] };

async function planned(problem) {
  const answer = await fetch(`${service.url}/v1/plans`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(problem) });
  assert.ok(answer.ok, await answer.clone().text());
  return answer.json();
}

// The page with its schedule, and the queries that it asked for.
async function open(problem, { prepare, without, ...options } = {}) {
  const plan = await planned(problem);
  const queries = [];
  const { page, close } = await openPage(browser, service.url, { path: '/', ...options });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.pathname.endsWith('/schedule')) queries.push(url.searchParams);
  });
  await prepare?.(page);
  await page.goto(`${service.url}/#/plans/${plan.id}`);
  const canvas = page.locator('#schedule canvas');
  if (!without) await canvas.waitFor();
  return { plan, page, close, canvas, queries };
}
const answered = (page, act) => Promise.all([page.waitForResponse((a) => new URL(a.url()).pathname.endsWith('/schedule') && a.ok()), act()]);

// The colour of the picture at a share of its width, so many pixels below the top of a device's row.
const pixel = (canvas, x, row, y) => canvas.evaluate((element, [share, down]) => {
  const ratio = element.width / element.clientWidth;
  return [...element.getContext('2d').getImageData(Math.floor(element.width * share), Math.floor(down * ratio), 1, 1).data].slice(0, 3);
}, [x, row * ROW + y]);
const colour = (page, name) => page.evaluate((variable) => {
  const c = document.createElement('canvas').getContext('2d');
  c.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
  c.fillRect(0, 0, 1, 1);
  return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3);
}, name);
const legend = (page) => page.locator('#schedule .legend li').allInnerTexts();
const TOP = 4; // above the numbers
const FOOT = ROW - 4; // in the memory

test('operations are drawn where they run, and below them what is held', async () => {
  const { page, close, canvas, queries } = await open(SMALL);
  assert.deepEqual([...queries.map((q) => q.toString())], ['devices=0-1']);
  for (const [t, device, name] of [[0.5, 0, '--t0'], [5, 0, '--t1'], [6.5, 0, '--t0'], [11, 0, '--t1'], [1.5, 1, '--t0'], [3, 1, '--t1'], [9, 1, '--t1']])
    assert.deepEqual(await pixel(canvas, t / 12, device, TOP), await colour(page, name), `${t} on device ${device}`);
  for (const [t, device] of [[3, 0], [9.5, 0], [0.5, 1], [11, 1]])
    assert.deepEqual(await pixel(canvas, t / 12, device, TOP), [0, 0, 0], `nothing at ${t} on device ${device}`);
  const held = await colour(page, '--t7');
  assert.deepEqual(await pixel(canvas, 3 / 12, 0, FOOT), held);
  assert.deepEqual(await pixel(canvas, 10.5 / 12, 1, FOOT), [0, 0, 0]);
  // two activations are the most of all: at 9.5 device 0 holds one, half as high
  assert.deepEqual(await pixel(canvas, 9.5 / 12, 0, ROW - 18), [0, 0, 0]);
  assert.deepEqual(await pixel(canvas, 3 / 12, 0, ROW - 18), held);
  assert.deepEqual(await legend(page), ['Forward', 'Backward', 'Activations held']);
  assert.match(await page.locator('.bigs').innerText(), /Makespan, predicted\s+12[^]*Bubble\s+25\.0\s%[^]*In flight, at most\s+2/);
  assert.match(await page.locator('h1').innerText(), /1f1b on 2 stages · 3 micro-batches/);
  await close();
});

test('gradients of weights, pairs and both of their colours', async () => {
  const { page, close, canvas, plan } = await open({ kind: 'schedule', schedule: 'dualpipe-v', stages: 2, micro_batches: 4, forward: 2, backward: 2, weight_gradient: 2 });
  assert.deepEqual(await legend(page), ['Forward', 'Backward', 'Gradient of the weights', 'Lighter: a later chunk of the device', 'Activations held']);
  const answer = await (await fetch(`${service.url}/v1/plans/${plan.id}/schedule`)).json();
  const list = answer.devices[1].operations.start.map((_, i) => operation(answer.devices[1], i));
  const middle = (kind) => {
    const o = list.find((x) => x.kind === kind);
    return (o.start + o.length / 2) / answer.makespan;
  };
  // the second of two chunks has a third of white in it; the two of a pair are never of one chunk
  const lighter = (rgb) => rgb.map((v) => Math.round((2 * v + 255) / 3));
  const same = (a, b, what) => assert.ok(a.every((v, i) => Math.abs(v - b[i]) <= 1), `${what}: ${a} is not ${b}`);
  const both = [await pixel(canvas, middle('pair'), 1, TOP - 2), await pixel(canvas, middle('pair'), 1, 21)];
  const first = list.find((o) => o.kind === 'pair').stage === answer.devices[1].stages[0];
  const [t0, t1, t3] = [await colour(page, '--t0'), await colour(page, '--t1'), await colour(page, '--t3')];
  same(both[0], first ? t0 : lighter(t0), 'the forward of a pair');
  same(both[1], first ? lighter(t1) : t1, 'the backward of a pair');
  const weight = list.find((o) => o.kind === 'weight');
  same(await pixel(canvas, middle('weight'), 1, TOP), weight.stage === answer.devices[1].stages[0] ? t3 : lighter(t3), 'weights');
  await close();
});

test('a cut pipeline: bounds, what recomputes, layers; a hostile name stays text', async () => {
  const { page, close, canvas, plan } = await open(CUT);
  assert.deepEqual(await legend(page), ['Forward', 'Backward', 'Recompute', 'Memory', 'What the device has']);
  const cap = await colour(page, '--bad');
  const seen = await canvas.evaluate((element) => {
    const { data } = element.getContext('2d').getImageData(0, 0, element.width, element.height);
    const all = new Set();
    for (let i = 0; i < data.length; i += 4) all.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
    return [...all];
  });
  assert.ok(seen.includes(cap.join(',')), 'the line of the cap');
  const rows = await page.locator('#stages tbody tr').allInnerTexts();
  assert.deepEqual(rows.map((r) => r.split('\t').map(Number)), plan.solution.layers[0].map((n, d) => [d, n, plan.solution.recompute.full[0][d]]));
  assert.match(await page.locator('.bigs').innerText(), new RegExp(`Memory, at most\\s+${Math.max(...plan.predicted.memory_bytes)}\\sB`));
  const flags = page.locator('#export .flags');
  await flags.waitFor();
  assert.equal((await flags.innerText()).trim(), (await (await fetch(`${service.url}/v1/plans/${plan.id}/export?format=megatron`)).text()).trim());
  await page.locator('details.panel summary').click();
  assert.match(await page.locator('details.panel pre').innerText(), /<img|<script/i);
  assert.equal(await page.locator('main img').count(), 0);
  await close();
});

// 1 of the 3 of a backward comes before its gradient: on device 0 with two micro-batches R is 2-3 and B 5-7, behind that of device 1 (3-5)
test('what recomputes before its gradient comes has stripes below its number', async () => {
  const { page, close, canvas, plan } = await open({ kind: 'schedule', schedule: '1f1b-early-recompute', stages: 2, micro_batches: 2, forward: 1, backward: 2, recompute: 1 });
  assert.ok((await legend(page)).includes('Recompute'));
  const { devices, makespan } = await (await fetch(`${service.url}/v1/plans/${plan.id}/schedule`)).json();
  const early = devices[0].operations.start.map((_, i) => operation(devices[0], i)).find((o) => o.kind === 'recompute');
  assert.deepEqual([early.start, early.length], [2, 1]);
  assert.deepEqual(await pixel(canvas, 2.5 / makespan, 0, TOP), await colour(page, '--t1'));
  const seen = new Set();
  for (let x = 2.2; x < 2.8; x += 0.02) seen.add((await pixel(canvas, x / makespan, 0, 19)).join());
  assert.ok(seen.size > 2, 'stripes');
  await close();
});

// Two stages of one layer each, four samples: the times are those of a line, so that the sizes do not matter to what is said here.
test('a division of samples: its micro-batches in words, and its exports where they have one size', async () => {
  const { page, close, plan } = await open({ kind: 'pipeline', method: 'csimd', samples: 4, samples_max: 2, stages: 2,
    layers: [{ count: 2, time: { samples: [1, 2], forward: [1, 2], backward: [2, 4] } }] });
  assert.deepEqual(await legend(page), ['Forward', 'Backward', 'Activations held']);
  const [run] = plan.solution.micro_batch_runs;
  assert.match(await page.locator('#stages').innerText(), new RegExp(`Micro-batches: ${run.count} of ${run.samples} sample`));
  assert.equal(plan.solution.micro_batch_runs.length, 1);
  assert.match(await page.locator('#export .flags').innerText(), new RegExp(`--micro-batch-size ${run.samples}\\b`));
  assert.deepEqual(await page.locator('#export option').allInnerTexts(), ['Megatron-LM', 'MindFormers']);
  await close();
});

test('the tip tells the operation, and what the device holds', async () => {
  const { page, close, canvas } = await open(SMALL);
  const box = await canvas.boundingBox();
  const point = (t, y) => page.mouse.move(box.x + (box.width * t) / 12, box.y + y);
  await point(7.5, 10);
  const tip = page.locator('.timeline-tip');
  await tip.waitFor();
  assert.match(await tip.innerText(), /Backward\s+micro-batch 1, stage 0\s+starts at 7\s+lasts 2\s+holds 2 activations/);
  await point(9.5, ROW - 5);
  assert.match(await tip.innerText(), /Device 0\s+at 9\.\d+\s+holds 1 activation$/);
  await page.mouse.move(box.x - 50, box.y);
  await tip.waitFor({ state: 'detached' });
  await close();
});

test('keys and the wheel zoom and move, and the view is asked for with some more on both sides', async () => {
  const { page, close, canvas, queries } = await open(SMALL);
  await canvas.focus();
  await answered(page, () => page.keyboard.press('+'));
  const range = async () => [Number(await canvas.getAttribute('data-from')), Number(await canvas.getAttribute('data-to'))];
  // a step in is 12 / 1.5 = 8 around the middle; half of that more on both sides, from 0 on
  assert.deepEqual((await range()).map((v) => Math.round(v * 1e9) / 1e9), [2, 10]);
  assert.deepEqual([queries.at(-1).get('from'), queries.at(-1).get('to')].map((v) => Math.round(Number(v) * 1e9) / 1e9), [0, 14]);
  await answered(page, () => page.keyboard.press('ArrowRight'));
  assert.deepEqual((await range()).map((v) => Math.round(v * 1e9) / 1e9), [2.8, 10.8]);
  // 4.9 of 2.8..10.8 is in the backward of 4-6
  await page.waitForTimeout(100);
  assert.deepEqual(await pixel(canvas, 2.1 / 8, 0, TOP), await colour(page, '--t1'));
  await answered(page, () => page.keyboard.press('0'));
  assert.deepEqual(await range(), [0, 12]);
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width / 4 - 5, box.y + 30);
  await page.mouse.move(box.x + box.width / 4, box.y + 30);
  await answered(page, () => page.mouse.wheel(0, -100));
  const [from, to] = await range();
  assert.ok(Math.abs(to - from - 8) < 1e-6 && Math.abs(from - 1) < 0.05, `the pointer stays at 3: ${from} to ${to}`);
  await close();
});

test('the same in tables: devices, and the operations of one of them', async () => {
  const { page, close } = await open(SMALL);
  await page.getByText('The devices in numbers').click();
  const devices = page.getByRole('region', { name: 'Devices', exact: true });
  assert.deepEqual((await devices.locator('tbody tr').allInnerTexts()).map((r) => r.split('\t')), [['0', '0', '9', '3', '25.00', '2'], ['1', '1', '9', '3', '25.00', '1']]);
  await page.getByText('The operations of a device').click();
  await page.locator('#schedule details select').selectOption('1');
  const rows = await page.getByRole('region', { name: 'Operations of device 1 in view' }).locator('tbody tr').allInnerTexts();
  assert.deepEqual(rows.map((r) => r.split('\t').slice(0, 5)), [['1', '1', 'Forward', '1', '0'], ['2', '2', 'Backward', '1', '0'], ['4', '1', 'Forward', '1', '1'],
    ['5', '2', 'Backward', '1', '1'], ['7', '1', 'Forward', '1', '2'], ['8', '2', 'Backward', '1', '2']]);
  await close();
});

test('a schedule of more than fits is drawn up to where it goes, and a shorter view has the rest', async () => {
  const { page, close, canvas } = await open({ ...SMALL, stages: 4, micro_batches: 60000 });
  const note = page.locator('#schedule [role=status].warn');
  assert.match(await note.innerText(), /Drawn up to [\d,]+: there are 480,000 operations/);
  const start = Date.now();
  await canvas.focus();
  await answered(page, async () => { for (let i = 0; i < 8; i++) await page.keyboard.press('+'); });
  await note.waitFor({ state: 'detached' });
  assert.ok(Date.now() - start < 15000);
  await close();
});

test('many devices are chosen by ranges', async () => {
  const { page, close, canvas, queries } = await open({ ...SMALL, stages: 300, micro_batches: 2 });
  assert.equal((await canvas.boundingBox()).height, 128 * ROW);
  await answered(page, () => page.locator('#schedule .panel-head select').selectOption('256 to 299'));
  await page.locator('.timeline-names span').filter({ hasText: 'Device 299' }).waitFor();
  assert.equal(queries.at(-1).get('devices'), '256-299');
  assert.equal(await page.locator('.timeline-names span').count(), 44);
  await close();
});

test('no time, no picture; what fails is told and can be tried again', async () => {
  const empty = await open({ ...SMALL, forward: 0, backward: 0 }, { without: true });
  await empty.page.getByText('Nothing in this schedule takes any time.').waitFor();
  await empty.close();
  const none = await open(SMALL, { without: true, expect: [404], prepare: (p) => p.route('**/schedule?*', (route) => route.fulfill({ status: 404,
    contentType: 'application/problem+json', body: JSON.stringify({ title: 'Not Found', detail: 'a plan without one', code: 'no_schedule' }) })) });
  await none.page.getByText('This plan has no schedule that could be drawn.').waitFor();
  assert.equal(await none.page.getByRole('alert').count(), 0);
  await none.close();
  let broken = true;
  const { page, close } = await open(SMALL, { without: true, expect: [503], prepare: (p) => p.route('**/schedule?*', (route) => (broken
    ? route.fulfill({ status: 503, contentType: 'application/problem+json', body: JSON.stringify({ title: 'Busy', detail: 'Try later.', code: 'busy' }) }) : route.continue())) });
  await page.getByRole('alert').waitFor();
  assert.match(await page.getByRole('alert').innerText(), /Try later/);
  broken = false;
  await answered(page, () => page.getByRole('alert').getByRole('button', { name: 'Try again' }).click());
  await page.locator('#schedule canvas').waitFor();
  await assert.rejects(close(), /503 from/, 'the harness saw the failure that was made');
});

test('the picture follows the scheme and fits a narrow window', async () => {
  const { page, close, canvas } = await open(SMALL, { viewport: { width: 390, height: 800 } });
  const light = await pixel(canvas, 0.5 / 12, 0, TOP);
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.waitForTimeout(100);
  assert.deepEqual(await pixel(canvas, 0.5 / 12, 0, TOP), await colour(page, '--t0'));
  assert.notDeepEqual(await pixel(canvas, 0.5 / 12, 0, TOP), light);
  assert.equal(await overflow(page), null);
  await close();
});

// ---- without a browser ----

test('what lies under the pointer', () => {
  const device = { device: 5, stages: [5], peak: 2, cap: 3, works: { kind: ['forward', 'backward'], stage: [5, 5], length: [1, 2] },
    operations: { work: [0, 1], micro_batch: [7, 7], start: [0, 4] }, memory: { time: [0, 6], held: [1, 0] } };
  const picture = { answer: { devices: [device], to: 10 }, view: { from: 0, to: 10 }, width: 100 };
  assert.deepEqual(hit(picture, 45, 5), { device, at: 4.5, held: 1, op: 1 });
  assert.deepEqual(hit(picture, 30, 5), { device, at: 3, held: 1, op: null });
  assert.deepEqual(hit(picture, 70, 40), { device, at: 7, held: 0, op: null });
  assert.equal(hit(picture, 70, ROW + 1), null);
  assert.deepEqual(operation(device, 1), { kind: 'backward', stage: 5, slice: null, start: 4, length: 2, recompute: null, micro_batch: 7, other_stage: null, other_micro_batch: null });
  assert.equal(topOf(picture.answer), 3);
});

// Full loss of one kind of cone (Machado, Oliveira and Fernandes, IEEE TVCG 15(6), 2009, table 1, severity 1.0), on linear light.
const BLIND = {
  none: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};
// CIE L*a*b* (D65) of a colour with a share of white, as such eyes see it.
function lab(hex, matrix, white) {
  const rgb = [1, 3, 5].map((i) => (1 - white) * (parseInt(hex.slice(i, i + 2), 16) / 255) + white).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  const [r, g, b] = matrix.map((row) => Math.min(1, Math.max(0, row.reduce((sum, k, i) => sum + k * rgb[i], 0))));
  const f = (t) => (t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27 * t + 16) / 116);
  const [x, y, z] = [(0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089].map(f);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

// A difference of 2.3 is just noticeable (Mahy et al., 1994): six times that is plain. What recomputes has stripes besides.
test('forward, backward and weights differ for all eyes, in both schemes', () => {
  const css = readFileSync(new URL('../../web/style.css', import.meta.url), 'utf8');
  const [light, dark] = css.split('prefers-color-scheme: dark');
  const find = (text, name) => new RegExp(`${name}: (#[0-9a-f]{6})`).exec(text)?.[1];
  const names = [...new Set(GROUPS.map((g) => g.colour))];
  assert.equal(names.length, 3);
  for (const scheme of [light, dark.slice(0, dark.indexOf('* {'))])
    for (const [eyes, matrix] of Object.entries(BLIND))
      names.forEach((a, i) => names.slice(i + 1).forEach((b) => {
        // the same chunk, or any two
        for (const [white, other] of [[0, 0], [0, 1 / 3], [1 / 3, 0], [1 / 3, 1 / 3]]) {
          const [p, q] = [[a, white], [b, other]].map(([name, share]) => lab(find(scheme, name) ?? find(light, name), matrix, share));
          const distance = Math.hypot(...p.map((v, k) => v - q[k]));
          assert.ok(distance > 6 * 2.3, `${eyes}: ${a} (${white}) and ${b} (${other}) differ by ${distance.toFixed(1)}`);
        }
      }));
});
