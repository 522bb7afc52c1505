// What the build packs: complete, sorted, the same twice, and safe by its sources.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { scratch } from './service.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const ROW = /\{"([^"]+)", "([^"]+)", "\\"([0-9a-f]+)\\"",\s+web_blob_(\d+), (\d+), (?:web_gzip_(\d+), (\d+)|NULL, 0),/g;
let folder;
let assets;

const pack = (name) => {
  execFileSync(process.execPath, [join(root, 'web/build.mjs'), join(folder.path, name)], { cwd: root });
  return Object.fromEntries(readdirSync(join(folder.path, name)).map((file) => [file, readFileSync(join(folder.path, name, file))]));
};

before(() => {
  folder = scratch();
  const files = pack('one');
  assets = [...files['table.c'].toString().matchAll(ROW)].map(([, path, type, etag, blob, length, gzip]) => ({
    path, type, etag, length: Number(length), data: files[`${blob}.bin`], gzip: gzip && files[`${gzip}.gz`] }));
});
after(() => folder.remove());

const asset = (path) => assets.find((a) => a.path === path);

test('the same sources give the same bytes', () => {
  const one = pack('one');
  const two = pack('two');
  assert.deepEqual(Object.keys(one), Object.keys(two));
  for (const [name, bytes] of Object.entries(one)) {
    if (name !== 'table.c') assert.ok(bytes.equals(two[name]), name);
  }
  const neutral = (text, name) => text.toString().replaceAll(join(folder.path, name), 'OUT');
  assert.equal(neutral(one['table.c'], 'one'), neutral(two['table.c'], 'two'));
});

test('the table is sorted, typed and tagged, and the gzip form is the same file', () => {
  const paths = assets.map((a) => a.path);
  assert.deepEqual(paths, [...paths].sort());
  assert.ok(paths.includes('/') && paths.includes('/licenses') && paths.includes('/favicon.svg'));
  for (const a of assets) {
    assert.equal(a.data.length, a.length, a.path);
    assert.equal(a.etag, createHash('sha256').update(a.data).digest('hex').slice(0, 32), a.path);
    assert.doesNotMatch(a.type, /undefined/);
    if (a.gzip) assert.ok(gunzipSync(a.gzip).equals(a.data) && a.gzip.length < a.length, a.path);
  }
});

test('every module that is asked for is there', () => {
  const page = asset('/').data.toString();
  const map = JSON.parse(/<script type="importmap">(.*?)<\/script>/s.exec(page)[1]).imports;
  for (const target of Object.values(map)) assert.ok(asset(target), target);
  for (const [, target] of page.matchAll(/(?:href|src)="(\/[^"]+)"/g))
    if (target !== '/openapi.json') assert.ok(asset(target), target);
  for (const a of assets.filter(({ path }) => path.startsWith('/app/')))
    for (const [, from] of a.data.toString().matchAll(/(?:from|import\() ?'([^']+)'/g))
      assert.ok(from.startsWith('./') ? asset(`/app/${from.slice(2)}`) : map[from], `${a.path} asks for ${from}`);
});

test('no source turns text into markup or code', () => {
  for (const a of assets.filter(({ path }) => path.startsWith('/app/')))
    assert.doesNotMatch(a.data.toString(), /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|localStorage/, a.path);
});
