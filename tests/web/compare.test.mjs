// Two profiles side by side, and the report behind a profile's button.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openPage, overflow } from './browser.mjs';
import { send, startService } from './service.mjs';
import { MARKUP, trace } from './trace.mjs';

let service;
let browser;
let slow;
let quick;
before(async () => {
  service = await startService();
  browser = await launch();
  // the same job; in the second the matrix products take 10 ms less, and all that follows comes earlier
  const faster = JSON.parse(trace());
  for (const e of faster.traceEvents) {
    if (e.name === MARKUP) e.dur -= 10_000;
    else if (['kernel', 'gpu_memcpy'].includes(e.cat)) e.ts -= 10_000;
  }
  slow = await send(service.url, `slow ${MARKUP}`, trace());
  quick = await send(service.url, 'quick', JSON.stringify(faster));
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

test('two profiles are chosen, compared, and swapped', async () => {
  const { page, close } = await openPage(browser, service.url, { path: `/#/profiles/${slow.id}` });
  await page.getByRole('link', { name: 'Compare' }).last().click();
  await page.getByLabel('Target').selectOption(quick.id);
  const verdict = page.getByRole('region', { name: 'Verdict' });
  await verdict.waitFor();
  assert.match(page.url(), new RegExp(`#/compare/${slow.id}/${quick.id}$`));
  const { verdict: said } = await (await fetch(`${service.url}/v1/comparisons?base=${slow.id}&target=${quick.id}`)).json();
  assert.equal(await verdict.locator('.verdict-text').innerText(), said.sentence);
  const row = page.getByRole('region', { name: 'Times' }).locator('tr', { hasText: /^Compute/ });
  assert.match((await row.innerText()).replace(/\s+/g, ' '), /Compute 30(\.00)? 20(\.00)? -10(\.00)?/);
  // both sides and their difference in one unit, the parts by the names of the breakdown
  const heads = await page.getByRole('region', { name: 'Times' }).locator('th').allInnerTexts();
  assert.equal(new Set(heads.slice(1).map((h) => /\((.*)\)/.exec(h)[1])).size, 1, `${heads}`);
  assert.ok((await page.getByRole('region', { name: 'Times' }).locator('tbody td:first-child').allInnerTexts()).includes('Exposed'));
  const operators = page.getByRole('region', { name: 'Operators' });
  assert.equal(await operators.locator('tbody tr').first().locator('.name').innerText(), MARKUP);
  assert.match(await operators.locator('tbody tr').first().innerText(), /less/);
  await page.getByRole('button', { name: 'Swap' }).click();
  await page.waitForURL(new RegExp(`#/compare/${quick.id}/${slow.id}$`));
  await page.getByRole('region', { name: 'Operators' }).locator('td', { hasText: 'more' }).first().waitFor();
  assert.equal(await overflow(page), null);
  await close();
});

test('without a choice the view says what to do, and a lost profile is told', async () => {
  const { page, close } = await openPage(browser, service.url, { path: '/#/compare', expect: [404] });
  await page.getByText('Choose two profiles').waitFor();
  assert.equal(await page.getByLabel('Base').locator('option').count(), 3);
  await page.goto(`${service.url}/#/compare/${slow.id}/00000000-0000-7000-8000-000000000000`);
  await page.getByRole('alert').waitFor();
  await close();
});

test('the report is a page of its own that runs and loads nothing', async () => {
  const { page, context, close } = await openPage(browser, service.url, { path: `/#/profiles/${slow.id}` });
  const opened = context.waitForEvent('page');
  await page.getByRole('link', { name: 'Report' }).click();
  const report = await opened;
  const asked = [];
  report.on('request', (r) => asked.push(r.url()));
  report.on('console', (m) => asked.push(m.text()));
  await report.waitForLoadState();
  assert.match(report.url(), new RegExp(`/v1/profiles/${slow.id}/report$`));
  assert.equal(await report.locator('h1').innerText(), `slow ${MARKUP}`);
  assert.equal(await report.title(), `slow ${MARKUP}`);
  assert.equal(await report.locator('img, script, a').count(), 0);
  assert.ok(await report.locator('td', { hasText: MARKUP }).count() > 0, 'the operator is named');
  const bar = report.locator('svg[role=img]').first();
  const widths = await bar.locator('rect').evaluateAll((all) => all.map((r) => Number(r.getAttribute('width'))));
  assert.ok(Math.abs(widths.reduce((a, b) => a + b, 0) - 1000) < 0.1, `${widths}`);
  assert.deepEqual(asked.filter((u) => !u.startsWith(service.url)), []);
  await close();
});
