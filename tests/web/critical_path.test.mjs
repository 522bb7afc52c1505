// The critical path on the page: its parts, its table, and another rank.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openPage } from './browser.mjs';
import { send, startService } from './service.mjs';
import { MARKUP, trace } from './trace.mjs';

let service;
let browser;
let profile;
before(async () => {
  service = await startService();
  browser = await launch();
  profile = await send(service.url, 'path', trace());
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

test('the path of the made-up steps is drawn and listed', async () => {
  const { page, close } = await openPage(browser, service.url, { path: `/#/profiles/${profile.id}/critical-path` });
  const bar = page.locator('#critical-path .bar');
  await bar.waitFor();
  // Backwards in each step of 100 ms: the copy 75..80, a gap, the collective 39..70; it began when the second
  // product was at work, so the first one, 10..30, is what had ended last. All launches came early: gaps.
  // Between the steps 30 ms, of which the late launch of the first product explains the first 21.
  const answer = await (await fetch(`${service.url}/v1/profiles/${profile.id}/critical-path?rank=0`)).json();
  assert.deepEqual([answer.compute_us, answer.communication_us, answer.copy_us, answer.span_us], [40000, 62000, 10000, 170000]);
  assert.equal(answer.host_us + answer.gap_us, 58000);
  assert.match(await bar.getAttribute('aria-label'), /Rank 0: Compute 40\sms, Communication 62\sms, Copies 10\sms, Host .*ms, Gap .*ms/);
  const table = page.locator('#critical-path table');
  assert.match(await table.innerText(), /AllReduce/);
  // a name with markup is text
  assert.ok((await table.innerText()).includes(MARKUP));
  assert.equal(await page.locator('#critical-path img').count(), 0);
  await close();
});
