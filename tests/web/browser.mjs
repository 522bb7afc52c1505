// A browser whose pages fail the test on any script error, console error, answer from 500 up or foreign request.
import { chromium } from 'playwright-core';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });

// expect: statuses from 400 up that the test provokes on purpose; the browser reports each as a console error.
export async function openPage(browser, url, { path = '/', expect = [], ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: 'light', ...options });
  const page = await context.newPage();
  const faults = [];
  page.on('pageerror', (error) => faults.push(`script error: ${error.message}`));
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('console', (message) => {
    const known = expect.some((status) => message.text().includes(`status of ${status}`));
    if (message.type() === 'error' && !known) faults.push(`console: ${message.text()} ${message.location().url}`);
  });
  page.on('response', (answer) => {
    if (answer.status() >= 500) faults.push(`${answer.status()} from ${answer.url()}`);
  });
  page.on('request', (request) => {
    const target = request.url();
    if (!target.startsWith(url) && !/^(data|blob|about):/.test(target)) faults.push(`request to ${target}`);
  });
  await page.goto(url + path);
  const close = async () => {
    await context.close();
    if (faults.length > 0) throw new Error(faults.join('\n'));
  };
  return { page, context, close };
}

// What sticks out of the window, for the message of a failing test.
export const overflow = (page) => page.evaluate(() => {
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide <= 0) return null;
  const worst = [...document.querySelectorAll('main *')].find((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll, pre'));
  return `${wide} px too wide: ${worst?.outerHTML.slice(0, 200)}`;
});
