// The curve of a device's memory, as a reader sees it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openPage } from './browser.mjs';
import { send, startService } from './service.mjs';
import { MARKUP, trace } from './trace.mjs';

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

const MIB = 2 ** 20;
const instant = (ts, device, allocated, reserved) => ({ ph: 'i', s: 't', cat: 'cpu_instant_event', name: '[memory]', pid: 1, tid: 2, ts,
  args: { Bytes: MIB, Addr: ts, 'Device Type': 1, 'Device Id': device, 'Total Allocated': allocated * MIB, 'Total Reserved': reserved * MIB } });
const recorded = {
  schemaVersion: 1, deviceProperties: [{ id: 0, name: 'A', totalGlobalMem: 2048 * MIB }],
  traceEvents: [
    { ph: 'X', cat: 'cpu_op', name: MARKUP, pid: 1, tid: 2, ts: 0, dur: 100 },
    { ph: 'X', cat: 'kernel', name: 'k', pid: 0, tid: 7, ts: 0, dur: 100, args: { device: 0, stream: 7, correlation: 1 } },
    instant(0, 0, 100, 600), instant(40, 0, 300, 600), instant(90, 0, 200, 800), instant(50, 1, 50, 60),
  ],
};

test('the curve, its peaks and who holds them', async () => {
  const profile = await send(service.url, 'memory', JSON.stringify(recorded));
  const { page, close } = await openPage(browser, service.url, { path: `/#/profiles/${profile.id}/memory` });
  const section = page.locator('#memory');
  await section.locator('svg').waitFor();
  assert.match(await section.locator('svg').getAttribute('aria-label'), /device 0: peak 314\.6\sMB, reserved 838\.9\sMB/);
  const facts = await section.locator('.facts').innerText();
  assert.match(facts, /Peak\s+314\.6\sMB\s+Reserved\s+838\.9\sMB\s+Held in vain at the peak\s+314\.6\sMB\s+Of the device\s+2\.1\d*\sGB/);
  // a staircase of three records: two steps after the first point
  const path = await section.locator('path.allocated').getAttribute('d');
  assert.equal(path.match(/H/g).length, 2);
  const points = path.match(/[MHV][^MHV]*/g);
  // 300 of the 800 MiB that the axis reaches: 100 of 160 pixels from the top
  assert.ok(points.includes('V100.0'), path);
  assert.match(await section.locator('table').innerText(), new RegExp(MARKUP.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')));
  await section.locator('select').selectOption('1');
  assert.match(await section.locator('svg').getAttribute('aria-label'), /device 1/);
  await close();
});

test('a capture without records says what would give them', async () => {
  const profile = await send(service.url, 'none', trace());
  const { page, close } = await openPage(browser, service.url, { path: `/#/profiles/${profile.id}/memory` });
  const section = page.locator('#memory');
  await section.getByText('No memory is recorded').waitFor();
  await close();
});
