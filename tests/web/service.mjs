// What the tests of the page need of the service and the generator.
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { GENERATE, start, temporary } from '../support/service.mjs';

export function scratch() {
  const path = temporary('signalbox-web-');
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export const startService = (args = []) => start({ args });

// Uploads bytes without the page, and waits until they are analysed.
export async function send(url, name, bytes) {
  const answer = await fetch(`${url}/v1/profiles?name=${encodeURIComponent(name)}`, {
    method: 'POST', body: bytes, headers: { 'Content-Type': 'application/octet-stream', Prefer: 'wait=20' } });
  const profile = await answer.json();
  if (answer.status !== 201) throw new Error(`upload of ${name}: ${answer.status} ${JSON.stringify(profile)}`);
  return profile;
}

// A profile from the project's generator.
export function generate(...args) {
  const run = spawnSync(GENERATE, args, { encoding: 'utf8' });
  if (run.error || run.status !== 0) throw new Error(`${GENERATE} ${args.join(' ')}: ${run.error ?? run.stderr}`);
}
