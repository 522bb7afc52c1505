// The timeline on the page of a profile: what is drawn, asked for and said.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { busyOf, depths, groupOf, hit, pan, ticks, zoom } from '../../web/app/timeline_draw.js';
import { tar } from '../api/inputs.mjs';
import { launch, openPage, overflow } from './browser.mjs';
import { send, startService } from './service.mjs';
import { MARKUP, trace } from './trace.mjs';

let service;
let browser;
let profile;
before(async () => {
  service = await startService();
  browser = await launch();
  profile = await send(service.url, 'timeline', trace());
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

const host = (name, count = 1) => JSON.stringify({ schemaVersion: 1, traceEvents: Array.from({ length: count }, (_, i) => (
  { ph: 'X', cat: 'cpu_op', name, pid: 1, tid: count > 1 ? i : 1, ts: 10 + i, dur: 5 })) });

// The page with its timeline, and the queries that it asked for.
async function open(id = profile.id, options = {}) {
  const queries = [];
  const { page, close, context } = await openPage(browser, service.url, { path: '/', ...options });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.pathname.endsWith('/timeline')) queries.push(url.searchParams);
  });
  await page.goto(`${service.url}/#/profiles/${id}/timeline`);
  const canvas = page.locator('#timeline canvas');
  await canvas.waitFor();
  await page.waitForTimeout(350); // the page scrolls to the part once more
  await page.waitForFunction(() => !document.querySelector('.loading'));
  return { page, close, context, canvas, queries };
}

const answered = (page, act) => Promise.all([page.waitForResponse((a) => new URL(a.url()).pathname.endsWith('/timeline') && a.ok()), act()]);
// The colour of the picture at a share of its width, in the middle of a lane.
const pixel = (canvas, x, lane) => canvas.evaluate((element, [share, row]) => {
  const ratio = element.width / element.clientWidth;
  return [...element.getContext('2d').getImageData(Math.floor(element.width * share), Math.floor((row * 24 + 20) * ratio), 1, 1).data].slice(0, 3);
}, [x, lane]);
const colour = (page, name) => page.evaluate((variable) => {
  const c = document.createElement('canvas').getContext('2d');
  c.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
  c.fillRect(0, 0, 1, 1);
  return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3);
}, name);

// From the first event on, a view of 200 ms has the product at 10..40 and the collective at 39..70 of each 100 ms.
test('lanes are drawn where and as their events are, and the picture is as wide as what was asked for', async () => {
  const { page, close, canvas, queries } = await open();
  assert.equal(queries.length, 1);
  assert.equal(Number(queries[0].get('px')), Math.round((await canvas.boundingBox()).width));
  assert.deepEqual([...queries[0].keys()], ['px'], 'one rank: it need not be named');
  const names = await page.locator('.timeline-names span').allInnerTexts();
  assert.equal(names.length, 4);
  assert.match(names[0], /7$/);
  assert.match(names[1], /20$/);
  assert.equal(await canvas.getAttribute('data-to'), '200000');
  assert.deepEqual(await pixel(canvas, 0.1, 0), await colour(page, '--t0'), 'the product');
  assert.deepEqual(await pixel(canvas, 0.25, 1), await colour(page, '--t1'), 'the collective');
  assert.deepEqual(await pixel(canvas, 0.385, 0), await colour(page, '--t4'), 'the copy');
  assert.deepEqual(await pixel(canvas, 0.45, 1), [0, 0, 0], 'nothing');
  const legend = await page.locator('#timeline .legend li').allInnerTexts();
  assert.deepEqual(legend, ['Compute', 'Communication', 'Copies', 'Runtime calls', 'Annotations']);
  await close();
});

test('the wheel zooms around the pointer, and the view is asked for', async () => {
  const { page, close, canvas, queries } = await open();
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width / 4 - 5, box.y + 30);
  await page.mouse.move(box.x + box.width / 4, box.y + 30);
  await answered(page, () => page.mouse.wheel(0, -100));
  const last = queries.at(-1);
  const [from, to] = [Number(last.get('from_us')), Number(last.get('to_us'))];
  assert.ok(Math.abs(to - from - 200_000 / 1.5) < 1, `${from} to ${to}`);
  assert.ok(Math.abs(from - 50_000 + (to - from) / 4) < 400, `the pointer stays at 50 ms: ${from} to ${to}`);
  await answered(page, () => page.mouse.wheel(0, 100));
  assert.equal(queries.at(-1).get('from_us'), null, 'the whole again');
  await close();
});

test('a page that is scrolled past the picture goes on scrolling', async () => {
  const { page, close, canvas, queries } = await open();
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + 50, box.y + 30);
  await page.mouse.wheel(0, 40);
  await page.waitForFunction((y) => window.scrollY > y, await page.evaluate(() => window.scrollY - 1));
  await page.waitForTimeout(150);
  await page.mouse.wheel(0, -40);
  await page.waitForTimeout(250);
  assert.equal(queries.length, 1, 'nothing was zoomed');
  await close();
});

test('keys zoom and move, dragging moves, and many moves are one request', async () => {
  const { page, close, canvas, queries } = await open();
  await canvas.focus();
  await answered(page, async () => {
    for (const key of ['+', '+', '+', 'ArrowRight', '-']) await page.keyboard.press(key);
  });
  await page.waitForTimeout(200);
  assert.ok(queries.length <= 4, `${queries.length} requests for five keys`);
  const range = async () => [Number(await canvas.getAttribute('data-from')), Number(await canvas.getAttribute('data-to'))];
  // three steps in: 200 / 1.5^3; a tenth of that later; one step out around the middle
  const [from, to] = await range();
  const three = 200_000 / 1.5 ** 3;
  const two = 200_000 / 1.5 ** 2;
  assert.ok(Math.abs(to - from - two) < 1);
  assert.ok(Math.abs((from + to) / 2 - (100_000 + three / 10)) < 1);
  assert.deepEqual([queries.at(-1).get('from_us'), queries.at(-1).get('to_us')], [from.toFixed(3), to.toFixed(3)]);
  const box = await canvas.boundingBox();
  const before = queries.length;
  await page.mouse.move(box.x + 200, box.y + 30);
  await page.mouse.down();
  for (let x = 190; x >= 100; x -= 10) await page.mouse.move(box.x + x, box.y + 30);
  await answered(page, () => page.mouse.up());
  const moved = (two * 100) / Math.round(box.width);
  assert.ok(Math.abs((await range())[0] - from - moved) < 1, 'the picture follows the hand');
  assert.ok(queries.length - before < 5, `${queries.length - before} requests for ten moves`);
  await answered(page, () => page.getByRole('button', { name: 'Show the whole' }).click());
  assert.deepEqual(await range(), [0, 200_000]);
  await close();
});

test('only the last answer counts, however late another comes', async () => {
  const { page, close, canvas, queries } = await open();
  let first = true;
  await page.route('**/timeline?*', async (route) => {
    const slow = first;
    first = false;
    const answer = await route.fetch();
    if (slow) await new Promise((done) => setTimeout(done, 900));
    await route.fulfill({ response: answer }).catch(() => {});
  });
  await canvas.focus();
  await page.keyboard.press('+');
  await page.waitForTimeout(250);
  await answered(page, () => page.keyboard.press('+'));
  await page.waitForTimeout(1000);
  assert.equal(queries.length, 3);
  const { from, to } = { from: Number(queries.at(-1).get('from_us')), to: Number(queries.at(-1).get('to_us')) };
  assert.ok(Math.abs(to - from - 200_000 / 1.5 ** 2) < 1);
  await page.locator('#timeline summary').click();
  const counts = await page.locator('#timeline tbody tr').allInnerTexts();
  const answer = await (await fetch(`${service.url}/v1/profiles/${profile.id}/timeline?${queries.at(-1)}`)).json();
  assert.deepEqual(counts.map((row) => Number(row.split('\t')[3])), answer.lanes.map((l) => l.count));
  await close();
});

test('the tip tells name, start and length, and a hostile name stays text', async () => {
  const { page, close, canvas } = await open();
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width * 0.1, box.y + 15);
  const tip = page.locator('.timeline-tip');
  await tip.waitFor();
  assert.equal(await tip.locator('strong').innerText(), MARKUP);
  const text = await tip.innerText();
  assert.match(text, /starts at 10,000 µs/);
  assert.match(text, /lasts 20,000 µs/);
  assert.match(text, /Compute/);
  assert.equal(await page.locator('main img').count(), 0);
  await page.mouse.move(box.x + box.width * 0.45, box.y + 24 + 15);
  await tip.waitFor({ state: 'detached' });
  await close();
});

test('columns are drawn and told where there are more events than pixels', async () => {
  // 4,000 kernels of 6 us, one every 10 us
  const traceEvents = Array.from({ length: 4000 }, (_, i) => ({ ph: 'X', cat: 'kernel', name: 'gemm', pid: 0, tid: 7, ts: 1000 + 10 * i, dur: 6, args: { device: 0, stream: 7 } }));
  const dense = await send(service.url, 'dense', JSON.stringify({ schemaVersion: 1, distributedInfo: { rank: 0, world_size: 1 }, traceEvents }));
  const { page, close, canvas } = await open(dense.id);
  assert.deepEqual(await pixel(canvas, 0.5, 0), await colour(page, '--t0'));
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 15);
  const text = await page.locator('.timeline-tip').innerText();
  assert.match(text, /events start here/);
  assert.match(text, /busy, most of it kernel/);
  await page.locator('#timeline summary').click();
  const cells = (await page.locator('#timeline tbody tr').first().innerText()).split('\t');
  assert.equal(cells[3], '4,000');
  assert.equal(Number(cells[4]).toFixed(0), '60');
  await close();
});

test('ranks and captures without one are chosen by name', async () => {
  const { id } = await send(service.url, 'several', tar([['r3.json', Buffer.from(trace({ rank: 3, steps: 1 }))],
    ['a.json', Buffer.from(host('first'))], [`${MARKUP.replaceAll('/', '')}.json`, Buffer.from(host('second'))]]));
  const { page, close, queries } = await open(id);
  const select = page.locator('#timeline select');
  const options = await select.locator('option').allInnerTexts();
  assert.equal(options.length, 3);
  assert.equal(options[0], '3');
  assert.equal(queries[0].get('rank'), '3');
  const other = options.findIndex((text) => text.includes('<img'));
  await answered(page, () => select.selectOption(String(other)));
  assert.equal(queries.at(-1).get('source'), options[other].replace('unknown: ', ''));
  await page.locator('#timeline canvas').waitFor();
  assert.equal((await page.locator('.timeline-names span').allInnerTexts()).length, 1);
  assert.equal(await page.locator('main img').count(), 0);
  await close();
});

test('what was cut is told', async () => {
  const many = await send(service.url, 'threads', host('op', 150));
  const { page, close } = await open(many.id);
  assert.equal(await page.locator('.timeline-names span').count(), 100);
  assert.match(await page.locator('#timeline [role=status]').innerText(), /Not shown: 50 lanes with 50 events/);
  await close();
});

test('a profile without events says so', async () => {
  const rows = 'Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble\n1,10.0,2.0,1.0,3.0,5.0,17.0,0.0\n';
  const { id } = await send(service.url, 'sums', tar([['x_ascend_pt/ASCEND_PROFILER_OUTPUT/step_trace_time.csv', Buffer.from(rows)]]));
  const { page, close } = await openPage(browser, service.url, { path: `/#/profiles/${id}` });
  await page.locator('#timeline').getByText('no events to show').waitFor();
  assert.equal(await page.locator('#timeline canvas').count(), 0);
  await close();
});

test('the picture follows the scheme and fits a narrow window', async () => {
  const { page, close, canvas } = await open(profile.id, { viewport: { width: 390, height: 800 } });
  const light = await pixel(canvas, 0.1, 0);
  assert.deepEqual(light, await colour(page, '--t0'));
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.waitForTimeout(100);
  assert.deepEqual(await pixel(canvas, 0.1, 0), await colour(page, '--t0'));
  assert.notDeepEqual(await pixel(canvas, 0.1, 0), light);
  assert.equal(await overflow(page), null);
  await close();
});

// ---- without a browser ----

test('a view stays inside the whole', () => {
  const whole = { from: 0, to: 1000, least: 0.05 };
  assert.deepEqual(zoom(null, whole, 0.5, 0.25), { from: 125, to: 625 });
  assert.equal(zoom(null, whole, 2), null);
  assert.deepEqual(zoom({ from: 0, to: 100 }, whole, 2, 1), { from: 0, to: 200 });
  assert.deepEqual(pan({ from: 900, to: 1000 }, whole, 0.5), { from: 900, to: 1000 });
  assert.deepEqual(pan({ from: 100, to: 200 }, whole, -0.5), { from: 50, to: 150 });
  assert.equal(pan(null, whole, 1), null);
  let view = null;
  for (let i = 0; i < 200; i++) view = zoom(view, whole, 0.5);
  assert.ok(Math.abs(view.to - view.from - 0.05) < 1e-9, 'not below 50 ns');
  assert.equal(zoom(null, { from: 0, to: 0.001, least: 0.05 }, 0.5), null);
});

test('the axis has round times', () => {
  assert.deepEqual(ticks({ from: 0, to: 1000 }, 900), [0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]);
  assert.deepEqual(ticks({ from: 130, to: 330 }, 450), [150, 200, 250, 300]);
});

test('events in one another are found from the inside, columns by their place', () => {
  const lane = { name: 'l', events: [[0, 100, 'outer', 'host_op'], [10, 50, 'inner', 'host_op'], [70, 10, 'next', 'host_op']] };
  assert.deepEqual(depths(lane.events), [0, 1, 1]);
  const bins = { name: 'b', bins: [[2, 0.5, 'kernel', 3]] };
  const picture = { answer: { lanes: [lane, bins], from_us: 0, to_us: 100, px: 10 }, view: { from: 0, to: 100 }, width: 1000 };
  assert.equal(hit(picture, 300, 5).event[2], 'inner');
  assert.equal(hit(picture, 650, 5).event[2], 'outer');
  assert.deepEqual(hit(picture, 250, 30), { lane: bins, bin: bins.bins[0], from: 20, to: 30 });
  assert.equal(hit(picture, 350, 30), null);
  assert.equal(hit(picture, 350, 60), null);
  assert.equal(busyOf(lane, picture.answer), 1);
  assert.equal(busyOf(bins, picture.answer), 0.05);
  assert.equal(groupOf('something new').id, 'free');
});
