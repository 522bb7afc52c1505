// How the page behaves as a page: both schemes, both widths, keyboard, accessibility, weight, policy.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { launch, openPage, overflow } from './browser.mjs';
import { send, startService } from './service.mjs';
import { MARKUP, trace } from './trace.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let service;
let browser;
const TITLES = { list: 'Profiles', form: 'New plan', plans: 'Plans', nothing: 'Nothing here', profile: 'Profile', plan: 'Plan', schedule: 'Plan', compare: 'Compare' };
const views = { list: '#/profiles', form: '#/plans/new', plans: '#/plans', nothing: '#/nothing' };

before(async () => {
  service = await startService();
  browser = await launch();
  const { id } = await send(service.url, `look ${MARKUP}`, trace());
  views.profile = `#/profiles/${id}`;
  const planned = async (problem) => {
    const answer = await fetch(`${service.url}/v1/plans`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(problem) });
    assert.ok(answer.ok, await answer.clone().text());
    return `#/plans/${(await answer.json()).id}`;
  };
  views.schedule = await planned({ kind: 'pipeline', stages: 4, micro_batches: 8, memory_bytes: 40,
    layers: [{ name: MARKUP, count: 8, forward: 1, parameters_bytes: 10, activation_bytes: { none: 4, full: 1 } }] });
  views.compare = `#/compare/${id}/${id}`; // between two that have one title
  views.plan = await planned({ kind: 'strategy', batch: { global_sequences: 64 },
    model: { layers: 8, hidden: 1024, heads: 16, ffn_hidden: 4096, gated_ffn: false, vocab: 32000, seq_len: 1024 },
    cluster: { nodes: 1, devices_per_node: 8, device: 'a100-80g', links: [{ scope: 'node', bytes_per_second: 3e11 }] } });
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

const settled = async (page) => {
  await page.locator('main h1').waitFor();
  await page.waitForFunction(() => !document.querySelector('.loading') && !document.querySelector('.chart:not([data-drawn])'));
};

async function violations(page) {
  const found = await page.evaluate(() => axe.run({ resultTypes: ['violations'] }));
  return found.violations.filter((v) => ['serious', 'critical'].includes(v.impact))
    .map((v) => `${v.id}: ${v.nodes.map((n) => `${n.html.slice(0, 120)} ${n.failureSummary}`).join(' | ')}`);
}

for (const colorScheme of ['light', 'dark'])
  for (const width of [1280, 390])
    test(`${colorScheme}, ${width} px: nothing sticks out and axe has no serious complaint`, async () => {
      const { page, close } = await openPage(browser, service.url, { colorScheme, viewport: { width, height: 800 } });
      await page.evaluate(axe);
      for (const [name, hash] of Object.entries(views)) {
        await page.evaluate((to) => (location.hash = to), hash);
        await page.waitForFunction((title) => document.title.startsWith(`${title} ·`), TITLES[name]);
        await settled(page);
        await page.evaluate(() => document.querySelectorAll('details').forEach((d) => (d.open = true)));
        assert.equal(await overflow(page), null, name);
        assert.deepEqual(await violations(page), [], name);
      }
      await close();
    });

test('the schemes differ, and follow the system', async () => {
  const { page, close } = await openPage(browser, service.url);
  await settled(page);
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await back();
  await page.emulateMedia({ colorScheme: 'dark' });
  assert.notEqual(await back(), light);
  await close();
});

test('the keyboard alone reaches a profile and sorts its operators', async () => {
  const { page, close } = await openPage(browser, service.url);
  await settled(page);
  const focused = () => page.evaluate(() => document.activeElement.textContent.trim());
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Skip to the content');
  assert.ok(await page.locator('.skip').evaluate((e) => e.getBoundingClientRect().left >= 0), 'the skip link shows when focused');
  for (let i = 0; i < 20 && !(await focused()).startsWith('look '); i++) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.locator('#operators tbody tr').first().waitFor();
  assert.match(await focused(), /^look /, 'the heading of the new view has the focus');
  const sorter = () => page.evaluate(() => document.activeElement.closest('#operators') && document.activeElement.textContent.trim());
  for (let i = 0; i < 120 && !(await sorter())?.startsWith('Count'); i++) await page.keyboard.press('Tab');
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.notEqual(outline, 'none', 'the focus can be seen');
  await page.keyboard.press('Enter');
  assert.equal(await page.locator('#operators th', { hasText: 'Count' }).getAttribute('aria-sort'), 'descending');
  await close();
});

test('nothing moves for who asked for that', async () => {
  const { page, close } = await openPage(browser, service.url, { path: `/${views.profile}`, reducedMotion: 'reduce' });
  await settled(page);
  const moving = await page.evaluate(() => document.getAnimations().length
    + [...document.querySelectorAll('*')].filter((e) => parseFloat(getComputedStyle(e).transitionDuration) > 0).length);
  assert.equal(moving, 0);
  await close();
});

test('on paper the controls are gone and the findings stay', async () => {
  const { page, close } = await openPage(browser, service.url, { path: `/${views.profile}` });
  await settled(page);
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.locator('.top').isVisible(), false);
  assert.equal(await page.getByRole('button', { name: 'Delete' }).isVisible(), false);
  assert.equal(await page.locator('.finding').first().isVisible(), true);
  await close();
});

test('the page and its scripts weigh at most 150 KB gzipped', async () => {
  const seen = new Map();
  const { page, close } = await openPage(browser, service.url, { path: '/licenses' });
  page.on('response', (answer) => seen.set(new URL(answer.url()).pathname, answer));
  await page.goto(`${service.url}/${views.plan}`);
  await page.reload();
  await settled(page);
  let bytes = 0;
  const scripts = [...seen.keys()].filter((path) => path === '/' || /\.(m?js|css)$/.test(path));
  assert.ok(scripts.some((path) => path.includes('uplot')), 'the plot counts too');
  for (const path of scripts) {
    const answer = await fetch(service.url + path, { headers: { 'Accept-Encoding': 'gzip' } });
    assert.equal(answer.status, 200, path);
    assert.equal(answer.headers.get('content-encoding'), 'gzip', path);
    bytes += Number(answer.headers.get('content-length'));
  }
  assert.ok(bytes > 10_000 && bytes <= 150 * 1024, `${bytes} bytes`);
  await close();
});

test('the policy lets no foreign or inline script run', async () => {
  const answer = await fetch(`${service.url}/`);
  const policy = answer.headers.get('content-security-policy');
  assert.match(policy, /script-src 'self' 'sha256-[^']+';/);
  assert.doesNotMatch(policy, /unsafe/);
  assert.match(policy, /frame-ancestors 'none'/);
  const { page, context } = await openPage(browser, service.url);
  await settled(page);
  const ran = await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'window.ran = true';
    document.body.append(script);
    return window.ran === true;
  });
  assert.equal(ran, false);
  await context.close();
});

test('the licences of what the page runs on are served', async () => {
  const answer = await fetch(`${service.url}/licenses`);
  const text = await answer.text();
  assert.match(answer.headers.get('content-type'), /text\/plain/);
  for (const name of ['preact 11.2.0 (MIT)', 'htm 3.1.1 (Apache-2.0)', 'uplot 1.6.32 (MIT)']) assert.ok(text.includes(name), name);
});
