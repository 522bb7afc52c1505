// From the list to the evidence: what a reader sees of a profile.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openPage } from './browser.mjs';
import { send, startService } from './service.mjs';
import { MARKUP, SHARES, trace } from './trace.mjs';

let service;
let browser;
let profile;
before(async () => {
  service = await startService();
  browser = await launch();
  profile = await send(service.url, `two steps ${MARKUP}`, trace());
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

const near = (value, wanted, slack, what) => assert.ok(Math.abs(value - wanted) <= slack, `${what}: ${value}, wanted ${wanted}`);

test('the list names the profile, its state and its verdict, and leads to it', async () => {
  const { page, close } = await openPage(browser, service.url);
  const row = page.locator('.row', { hasText: MARKUP });
  await row.locator('.verdict-line').waitFor();
  assert.match(await row.innerText(), /Ready/);
  assert.match(await row.locator('.verdict-line').innerText(), /\d+(\.\d+)?\s%.* of the step/);
  await row.getByRole('link').click();
  await page.getByRole('heading', { level: 1, name: MARKUP }).waitFor();
  assert.match(page.url(), new RegExp(`#/profiles/${profile.id}$`));
  assert.match(await page.title(), /Profile · Signalbox/);
  await close();
});

test('the facts are those of the upload', async () => {
  const { page, close } = await openPage(browser, service.url, { path: `/#/profiles/${profile.id}` });
  const facts = page.locator('main > .facts');
  await facts.waitFor();
  const text = await facts.innerText();
  assert.match(text, /Format\s+PyTorch \(Kineto\)/);
  assert.match(text, /Ranks\s+0\b/);
  assert.match(text, /Steps\s+3, 4/);
  assert.match(text, new RegExp(profile.sha256.slice(0, 12)));
  await close();
});

test('the bars show the parts that the trace was made of', async () => {
  const { page, close } = await openPage(browser, service.url, { path: `/#/profiles/${profile.id}` });
  await page.locator('#breakdown select').first().selectOption('3');
  const bar = page.locator('#breakdown .bar').first();
  await bar.waitFor();
  const whole = (await bar.boundingBox()).width;
  for (const [part, share] of Object.entries(SHARES)) {
    const box = await bar.locator(`[data-part=${part}]`).boundingBox();
    near(box.width / whole, share, 0.005, part);
  }
  assert.match(await bar.getAttribute('aria-label'), /Compute 30\sms, Exposed communication 30\sms, Exposed copies 5\sms, Free 5\sms/);
  assert.match(await page.locator('#breakdown .bar-total').first().innerText(), /^70\sms$/);
  await page.locator('#breakdown summary').click();
  const numbers = page.locator('#breakdown table');
  const heads = await numbers.locator('th').allInnerTexts();
  const cells = await numbers.locator('tbody tr').first().locator('td').allInnerTexts();
  const of = (name) => cells[heads.findIndex((h) => h.startsWith(name))];
  assert.equal(heads[heads.findIndex((h) => h.startsWith('Overlap'))], 'Overlap (ms)');
  assert.equal(Number(of('Overlap')), 1);
  assert.equal(Number(of('Span')), 70);
  assert.equal(of('Bubble'), '–');
  assert.equal(await numbers.locator('td .missing').first().getAttribute('title'), 'not in this capture');
  await close();
});

test('a finding shows its evidence with unit, threshold and origin', async () => {
  const { page, close } = await openPage(browser, service.url, { path: `/#/profiles/${profile.id}` });
  const analysis = await (await fetch(`${service.url}/v1/profiles/${profile.id}/analysis`)).json();
  const advice = await (await fetch(`${service.url}/v1/profiles/${profile.id}/advice`)).json();
  const finding = analysis.findings.find((f) => f.code === 'parallel.poor_overlap');
  assert.ok(finding, 'half of the communication is exposed: the service must find poor overlap');
  const card = page.locator('.finding', { hasText: 'parallel.poor_overlap' });
  await card.locator('.advice').waitFor(); // the page asks for the advice apart from the findings
  const text = await card.innerText();
  assert.match(text, new RegExp(`${finding.confidence} confidence`));
  assert.match(text, new RegExp(finding.severity, 'i'));
  const lines = await card.locator('.evidence tbody tr').allInnerTexts();
  assert.ok(lines.length >= finding.evidence.length || lines.length >= 1);
  const judged = finding.evidence.find((e) => e.threshold !== null);
  assert.ok(judged, 'a finding is judged by a threshold');
  assert.match(text, /%|ms|µs/);
  assert.match(text, /\((the Hermes paper|msprof-analyze|CANN msprof|MindInsight|our default)\)/);
  const remedy = advice.items.find((a) => a.finding === finding.code);
  assert.match(text, new RegExp(remedy.actions[0].summary.slice(0, 20).replace(/[.*+?^${}()|[\]\\]/g, '\\$&')));
  await close();
});

test('operators are sorted, found and grouped, and their names stay text', async () => {
  const { page, close } = await openPage(browser, service.url, { path: `/#/profiles/${profile.id}` });
  const section = page.locator('#operators');
  await section.getByText('By name', { exact: true }).click();
  await section.locator('td.name', { hasText: MARKUP }).first().waitFor();
  assert.equal(await page.locator('main img').count(), 0);
  const totals = async () => (await section.locator('tbody tr').allInnerTexts()).map((t) => t.split('\t'));
  const first = async () => (await section.locator('tbody tr td.name').first().innerText()).trim();
  assert.match(await first(), /AllReduce/, 'the collective takes longest: 2 x 31 ms');
  await section.getByRole('button', { name: /^Total/ }).click();
  assert.match(await first(), /memcpy/i, 'the copy takes least: 2 x 5 ms');
  assert.equal(await section.locator('th[aria-sort]').getAttribute('aria-sort'), 'ascending');
  await section.getByRole('searchbox').fill('IMG SRC');
  assert.equal((await totals()).length, 1);
  assert.match((await totals())[0].join(' '), /40\.00/, 'two calls of 20 ms');
  await close();
});

test('what could not be judged says what it needs', async () => {
  const { page, close } = await openPage(browser, service.url, { path: `/#/profiles/${profile.id}` });
  const { not_evaluated: open } = await (await fetch(`${service.url}/v1/profiles/${profile.id}/analysis`)).json();
  assert.ok(open.length > 0);
  const rows = page.locator('#open tbody tr');
  await rows.first().waitFor();
  assert.equal(await rows.count(), open.length);
  assert.match(await rows.first().innerText(), new RegExp(open[0].code.replace('.', '\\.')));
  await close();
});

test('a profile is deleted only after a second word', async () => {
  const other = await send(service.url, 'to be deleted', trace({ rank: 1, steps: 1 }));
  const { page, close } = await openPage(browser, service.url, { path: `/#/profiles/${other.id}`, expect: [404] });
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Keep' }).click();
  assert.equal((await fetch(`${service.url}/v1/profiles/${other.id}`)).status, 200);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('group', { name: /for good/ }).getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { level: 1, name: 'Profiles' }).waitFor();
  assert.equal((await fetch(`${service.url}/v1/profiles/${other.id}`)).status, 404);
  await page.goto(`${service.url}/#/profiles/${other.id}`);
  await page.getByRole('alert').waitFor();
  await close();
});
