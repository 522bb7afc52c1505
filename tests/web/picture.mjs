// The picture of the README: node tests/web/picture.mjs OUT.png
// Needs the program and the generator (build/signalbox, build/generate) and uses generated data only.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { launch, openPage } from './browser.mjs';
import { generate, scratch, startService } from './service.mjs';

const out = process.argv[2];
if (!out) {
  console.error('usage: node tests/web/picture.mjs OUT.png');
  process.exit(2);
}

const service = await startService();
const browser = await launch();
const folder = scratch();
try {
  const capture = join(folder.path, 'llama-7b-dp4');
  mkdirSync(capture);
  generate('kineto', '--events', '40000', '--steps', '4', '--ranks', '4', '--seed', '7', '--fault', 'parallel.poor_overlap', capture);
  const { page, close } = await openPage(browser, service.url, { viewport: { width: 1280, height: 800 } });
  await page.getByLabel('Choose a folder').setInputFiles(capture);
  await page.waitForURL(/#\/profiles\/.+/);
  await page.locator('#breakdown .bar').first().waitFor();
  await page.locator('#operators tbody tr').first().waitFor();
  await page.evaluate(() => document.fonts.ready);
  await page.setViewportSize({ width: 1240, height: 1640 }); // down to the end of the breakdown
  await page.screenshot({ path: out });
  await close();
} finally {
  await browser.close();
  await service.stop();
  folder.remove();
}
