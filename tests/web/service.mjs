// The real program on a free port with a folder of its own.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = process.env.SIGNALBOX_BIN ?? process.env.SIGNALBOX ?? join(root, 'build/signalbox');
const generator = process.env.SIGNALBOX_GENERATE ?? join(root, 'build/generate');

export function scratch() {
  const path = mkdtempSync(join(tmpdir(), 'signalbox-web-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export async function startService() {
  const folder = scratch();
  const child = spawn(program, ['serve', '--listen', '127.0.0.1:0', '--data', join(folder.path, 'data')]);
  let said = '';
  child.stderr.on('data', (text) => (said += text));
  const url = await new Promise((found, failed) => {
    let line = '';
    const timer = setTimeout(() => failed(new Error(`not ready after 15 s: ${line}${said}`)), 15000);
    child.on('error', failed);
    child.on('exit', (status) => failed(new Error(`${program} ended with ${status}: ${said}`)));
    child.stdout.on('data', (text) => {
      line += text;
      const match = line.match(/listening on (http:\/\/\S+)\n/);
      if (match) found(match[1].replace(/\/$/, ''));
      if (match) clearTimeout(timer);
    });
  });
  const stop = async () => {
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 10000);
    await ended;
    clearTimeout(timer);
    folder.remove();
  };
  return { url, stop };
}

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
  const run = spawnSync(generator, args, { encoding: 'utf8' });
  if (run.error || run.status !== 0) throw new Error(`${generator} ${args.join(' ')}: ${run.error ?? run.stderr}`);
}
