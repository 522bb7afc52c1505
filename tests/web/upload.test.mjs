// Every way in: picker, folder, drop; and the ways it can fail.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { launch, openPage } from './browser.mjs';
import { generate, scratch, startService } from './service.mjs';
import { MARKUP, trace } from './trace.mjs';

let service;
let browser;
let folder;
before(async () => {
  service = await startService();
  browser = await launch();
  folder = scratch();
});
after(async () => {
  await browser?.close();
  await service?.stop();
  folder?.remove();
});

const stored = async (page) => {
  const id = decodeURIComponent(new URL(page.url()).hash.split('/')[2]);
  return (await fetch(`${service.url}/v1/profiles/${id}`)).json();
};
const opened = (page) => page.waitForURL(/#\/profiles\/.+/, { timeout: 20000 });

test('a gzipped trace through the picker ends at its verdict', async () => {
  const { page, close } = await openPage(browser, service.url);
  const file = join(folder.path, 'worker.pt.trace.json.gz');
  writeFileSync(file, gzipSync(trace()));
  await page.getByLabel('Choose files').setInputFiles(file);
  await opened(page);
  await page.locator('.verdict-text').waitFor();
  const profile = await stored(page);
  assert.equal(profile.name, 'worker.pt.trace.json.gz');
  assert.equal(await page.locator('.uploads li').count(), 0, 'the line of the upload is gone once its profile is shown');
  assert.equal(profile.state, 'ready');
  await close();
});

test('a folder becomes one profile of all its ranks', async () => {
  const { page, close } = await openPage(browser, service.url);
  const capture = join(folder.path, 'capture');
  for (const rank of [0, 1]) {
    mkdirSync(join(capture, `rank${rank}`), { recursive: true });
    writeFileSync(join(capture, `rank${rank}`, 'trace.json'), trace({ rank }));
  }
  await page.getByLabel('Choose a folder').setInputFiles(capture);
  await opened(page);
  await page.locator('#breakdown .bar').nth(1).waitFor();
  const profile = await stored(page);
  assert.equal(profile.name, 'capture');
  assert.deepEqual(profile.ranks, [0, 1]);
  assert.deepEqual(await page.locator('#breakdown .bar-name').allInnerTexts(), ['Rank 0 · device 0', 'Rank 1 · device 1']);
  await close();
});

test('a generated Ascend capture shows its collectives, links and packets', async () => {
  const { page, close } = await openPage(browser, service.url);
  const capture = join(folder.path, 'ascend');
  generate('ascend', '--ranks', '2', '--steps', '2', '--fault', 'communication.small_packets', '--name', MARKUP, capture);
  await page.getByLabel('Choose a folder').setInputFiles(capture);
  await opened(page);
  const profile = await stored(page);
  assert.deepEqual(profile.ranks, [0, 1]);
  const report = await (await fetch(`${service.url}/v1/profiles/${profile.id}/communication`)).json();
  const section = page.locator('#communication');
  await section.locator('tbody tr').first().waitFor();
  assert.equal(await section.locator('tbody tr').count(), Math.min(20, report.operators.length));
  assert.match(await section.locator('.domains').innerText(), /Ranks 0, 1.*R_wait\s+[\d.]+\s%/s);
  await section.getByRole('button', { name: 'Show', exact: true }).first().click();
  const packets = section.getByRole('region', { name: /^Packets of/ });
  assert.match(await packets.locator('tbody tr').first().innerText(), /HCCS|RDMA|SDMA|PCIE|SIO/);
  assert.ok(await page.locator('.finding', { hasText: 'communication.small_packets' }).count() === 1);
  await page.locator('#operators').getByText('By name', { exact: true }).click();
  await page.locator('#operators td.name', { hasText: MARKUP }).first().waitFor();
  assert.equal(await page.locator('main img').count(), 0);
  await close();
});

// A drop as the browser makes it, on the view that is open.
async function drop(page, files) {
  const transfer = await page.evaluateHandle((list) => {
    const data = new DataTransfer();
    for (const [name, text] of list) data.items.add(new File([text], name));
    return data;
  }, files);
  await page.dispatchEvent('main', 'dragenter', { dataTransfer: transfer });
  await page.locator('.overlay').waitFor();
  await page.dispatchEvent('main', 'drop', { dataTransfer: transfer });
}

test('several files dropped on any view become one profile', async () => {
  const { page, close } = await openPage(browser, service.url, { path: '/#/plans' });
  await page.getByRole('heading', { name: 'Plans' }).waitFor();
  await drop(page, [['rank0.json', trace({ rank: 0 })], ['rank1.json', trace({ rank: 1 })]]);
  await opened(page);
  assert.equal(await page.locator('.overlay').count(), 0);
  const profile = await stored(page);
  assert.equal(profile.name, 'rank0.json and 1 more');
  assert.deepEqual(profile.ranks, [0, 1]);
  await close();
});

test('what is no profile is refused with the reason, and the page goes on', async () => {
  const { page, close } = await openPage(browser, service.url, { expect: [400, 415, 422] });
  const picture = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
  await page.getByLabel('Choose files').setInputFiles({ name: 'picture.png', mimeType: 'image/png', buffer: picture });
  const problem = page.locator('.uploads .problem');
  await problem.waitFor();
  assert.match(await problem.innerText(), /\w{3,}.*[.!]/);
  assert.match(await page.locator('.uploads .stage').innerText(), /failed/);
  await page.getByRole('button', { name: 'Dismiss picture.png' }).click();
  assert.equal(await page.locator('.uploads li').count(), 0);
  await close();
});

test('broken input tells file and position', async () => {
  const { page, close } = await openPage(browser, service.url, { expect: [400, 422] });
  const file = join(folder.path, 'deep.json');
  writeFileSync(file, `{"traceEvents":[{"args":${'['.repeat(10000)}`);
  await page.getByLabel('Choose files').setInputFiles(file);
  const problem = page.locator('.uploads .problem');
  await problem.waitFor();
  assert.match(await problem.innerText(), /deep\.json/);
  assert.match(await problem.innerText(), /byte [\d,]+|line [\d,]+/);
  await close();
});

test('an upload can be canceled while it is sent', async () => {
  const { page, context, close } = await openPage(browser, service.url);
  await context.route('**/v1/profiles?name=*', () => {}); // never answered
  await page.getByLabel('Choose files').setInputFiles({ name: 'slow.json', mimeType: 'application/json', buffer: Buffer.from(trace()) });
  await page.getByRole('progressbar').waitFor();
  await page.getByRole('button', { name: 'Cancel slow.json' }).click();
  await page.locator('.stage.canceled').waitFor();
  assert.equal(await page.getByRole('progressbar').count(), 0);
  await context.unrouteAll({ behavior: 'ignoreErrors' });
  await close();
});
