// Packs the page for the program: node web/build.mjs OUT, called from the repository's root.
// Writes OUT/N.bin and OUT/N.gz, and OUT/table.c that takes them in. The same input gives the same bytes.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};
// npm files that the browser needs, under the names that the import map of index.html gives them
const VENDOR = {
  '/vendor/preact.mjs': 'preact/dist/preact.mjs',
  '/vendor/hooks.mjs': 'preact/hooks/dist/hooks.mjs',
  '/vendor/htm.mjs': 'htm/dist/htm.mjs',
  '/vendor/uplot.mjs': 'uplot/dist/uPlot.esm.js',
  '/vendor/uplot.css': 'uplot/dist/uPlot.min.css',
};
const web = fileURLToPath(new URL('.', import.meta.url)); // Node 18 has no import.meta.dirname
const modules = join(web, 'node_modules');
const out = process.argv[2];
if (!out) {
  console.error('usage: node web/build.mjs OUT');
  process.exit(2);
}

function licences() {
  const packages = Object.keys(JSON.parse(readFileSync(join(web, 'package.json'))).dependencies).sort();
  const parts = packages.map((name) => {
    const { version, license } = JSON.parse(readFileSync(join(modules, name, 'package.json')));
    const text = readFileSync(join(modules, name, 'LICENSE'), 'utf8').trim();
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  const head = 'The page of Signalbox runs on these packages. Their licences follow.\n';
  return Buffer.from([head, ...parts].join(`\n${'-'.repeat(78)}\n\n`));
}

// The import map is the one inline script: its hash lets it through.
function policy(html) {
  const inline = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g)].map((m) => m[1]);
  const hashes = inline.map((text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`);
  return [
    "default-src 'self'",
    ["script-src 'self'", ...hashes].join(' '),
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "form-action 'self'",
  ].join('; ');
}

function collect() {
  const files = new Map();
  const add = (path, data, type) => files.set(path, { data, type });
  const typed = (path, file) => add(path, readFileSync(file), TYPES[extname(path)]);
  typed('/style.css', join(web, 'style.css'));
  typed('/favicon.svg', join(web, 'favicon.svg'));
  // What a browser asks for by itself beside a page without a link to an icon: the licences, the API.
  add('/favicon.ico', readFileSync(join(web, 'favicon.svg')), TYPES['.svg']);
  for (const name of readdirSync(join(web, 'app')).filter((n) => n.endsWith('.js')))
    typed(`/app/${name}`, join(web, 'app', name));
  for (const [path, file] of Object.entries(VENDOR)) typed(path, join(modules, file));
  add('/licenses', licences(), TYPES['.txt']);
  add('/', readFileSync(join(web, 'index.html')), TYPES['.html']);
  return [...files].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

const text = (s) => (s === null ? 'NULL' : `"${s.replace(/[\\"]/g, '\\$&')}"`);
const symbol = (name, file) => `__asm__(".pushsection .rodata\\n"
	".balign 16\\n.global ${name}\\n.hidden ${name}\\n${name}:\\n.incbin " ${text(text(file))} "\\n.byte 0\\n"
	".popsection\\n");
extern const unsigned char ${name}[] __attribute__((visibility("hidden")));
`;

function pack(files) {
  const blobs = [];
  const rows = [];
  files.forEach(([path, { data, type }], i) => {
    const gzip = execFileSync('gzip', ['-9n'], { input: data, maxBuffer: 1 << 28 });
    const smaller = gzip.length < data.length;
    const etag = `"${createHash('sha256').update(data).digest('hex').slice(0, 32)}"`;
    const csp = type.startsWith('text/html') ? policy(data.toString()) : null;
    writeFileSync(join(out, `${i}.bin`), data);
    blobs.push(symbol(`web_blob_${i}`, join(out, `${i}.bin`)));
    if (smaller) {
      writeFileSync(join(out, `${i}.gz`), gzip);
      blobs.push(symbol(`web_gzip_${i}`, join(out, `${i}.gz`)));
    }
    const packed = smaller ? `web_gzip_${i}, ${gzip.length}` : 'NULL, 0';
    rows.push(`	{${text(path)}, ${text(type)}, ${text(etag)},
	 web_blob_${i}, ${data.length}, ${packed}, ${text(csp)}},`);
  });
  return `/* Written by web/build.mjs. */
#include "web/assets.h"

${blobs.join('')}
const struct web_asset WEB_ASSETS[] = {
${rows.join('\n')}
};
const size_t WEB_ASSET_COUNT = sizeof(WEB_ASSETS) / sizeof(WEB_ASSETS[0]);
`;
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
writeFileSync(join(out, 'table.c'), pack(collect()));
