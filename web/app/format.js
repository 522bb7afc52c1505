// Numbers as people read them. The API's units stay: microseconds, seconds, bytes, shares of 1.
export const DASH = '–';
export const MISSING = 'not in this capture';

const STEPS = {
  us: [[1e6, 's'], [1e3, 'ms'], [1, 'µs']],
  bytes: [[1e15, 'PB'], [1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']],
  bytes_per_second: [[1e12, 'TB/s'], [1e9, 'GB/s'], [1e6, 'MB/s'], [1e3, 'kB/s'], [1, 'B/s']],
  seconds: [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs']],
  share: [[0.01, '%']],
};
const ALIAS = { microseconds: 'us', ratio: 'share', 'bytes/s': 'bytes_per_second', s: 'seconds' };
const PLAIN = new Set(['count', 'events', '', 'number']);

export const isNumber = (v) => typeof v === 'number' && Number.isFinite(v);

// The step of a unit that suits the largest of the values that stand together.
export function scaleOf(unit, largest) {
  const steps = STEPS[ALIAS[unit] ?? unit];
  if (!steps) return { factor: 1, label: PLAIN.has(unit ?? '') ? '' : unit, fixed: false };
  const size = Math.abs(largest || 0);
  const [factor, label] = steps.find(([f]) => size >= f) ?? steps[steps.length - 1];
  return { factor, label, fixed: true };
}

function decimals(size) {
  if (size >= 1000) return 0;
  if (size >= 100) return 1;
  if (size >= 10) return 2;
  return 3;
}

export function plain(value, digits) {
  const size = Math.abs(value);
  if (digits === undefined && size > 0 && size < 0.001) return value.toPrecision(3);
  const most = digits ?? (Number.isInteger(value) ? 0 : decimals(size));
  // + 0: a difference of nothing may be -0
  return (value + 0).toLocaleString('en-US', { maximumFractionDigits: most, minimumFractionDigits: digits ?? 0 });
}

function percent(share) {
  const size = Math.abs(share);
  if (size > 0 && size < 0.0001) return share > 0 ? '<\u20090.01' : plain(share * 100);
  return plain(share * 100, share === 0 || share === 1 ? 0 : size >= 0.1 ? 1 : 2);
}

// One value with its unit; null is a dash.
export function quantity(value, unit) {
  if (!isNumber(value)) return DASH;
  const { factor, label, fixed } = scaleOf(unit, value);
  const number = unit === 'share' ? percent(value) : plain(value / factor);
  return label ? `${number}\u00a0${value === 1 && !fixed ? label.replace(/s$/, '') : label}` : number;
}

// As many digits as its neighbours have; what would show as 0 and is not says so.
function among(value, digits) {
  const least = 10 ** -digits;
  if (value === 0 || Math.abs(value) >= least / 2) return plain(value, digits);
  return value > 0 ? `<\u2009${least}` : `>\u2009-${least}`;
}

// What a cell of a table shows when its column has one scale.
export function scaled(value, scale, largest) {
  if (!isNumber(value)) return DASH;
  if (!scale.fixed) return plain(value);
  if (scale.label === '%') return among(value / scale.factor, 2);
  if (scale.label === 'B') return plain(Math.round(value) || 0); // no parts of a byte, and no -0
  const top = Math.abs(largest / scale.factor);
  return among(value / scale.factor, top >= 1000 ? 1 : top >= 10 ? 2 : 3);
}

// The value as it came, for the hover text.
export function exact(value, unit) {
  if (!isNumber(value)) return MISSING;
  const names = { us: 'µs', bytes: 'bytes', bytes_per_second: 'bytes a second', seconds: 's', share: 'of 1' };
  return `${value.toLocaleString('en-US', { maximumFractionDigits: 12 })} ${names[unit] ?? unit ?? ''}`.trim();
}

export function when(text) {
  const date = new Date(text);
  if (!text || Number.isNaN(date.getTime())) return DASH;
  const two = (n) => String(n).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

// 0, 1, 2, 5 → "0–2, 5"
export function ranges(numbers) {
  const parts = [];
  for (const n of numbers ?? []) {
    const last = parts[parts.length - 1];
    if (last && n === last[1] + 1) last[1] = n;
    else parts.push([n, n]);
  }
  const shown = parts.slice(0, 12).map(([a, b]) => (a === b ? `${a}` : b === a + 1 ? `${a}, ${b}` : `${a}–${b}`));
  return shown.join(', ') + (parts.length > 12 ? ', …' : '');
}

export const many = (n, one, more = `${one}s`) => `${plain(n)} ${n === 1 ? one : more}`;
export const words = (key) => String(key ?? '').replace(/[_-]+/g, ' ');
// A member of a document in words: "tp_seconds" → "TP"; the unit stands with the value.
// A bare unit is no name, and device-seconds are no device.
const NAMES = { seconds: 'time', bytes: 'size', device_seconds: 'device-seconds' };
export const memberWords = (key) => NAMES[key] ?? words(key.replace(/_(bytes_per_second|bytes|seconds|us)$/, '')
  .replace(/(^|device_)seconds_per_/, (found) => (found === 'seconds_per_' ? 'time_per_' : 'device\u2011seconds_per_')))
  .replace(/\b(dp|tp|cp|pp|ep|etp|vpp|p2p|kv)\b/gi, (s) => s.toUpperCase()).replace(/\bmicro batch/, 'micro-batch');
export const memberName = (key) => sentence(memberWords(key));
// The labels of members that stand together: where two differ in their unit alone, the label says in which.
export function memberNames(keys) {
  const names = keys.map(memberName);
  const kind = (key) => ({ bytes: 'size', bytes_per_second: 'rate', seconds: 'time', us: 'time' })[/_(bytes_per_second|bytes|seconds|us)$/.exec(key)?.[1]];
  const twice = (name) => names.indexOf(name) !== names.lastIndexOf(name);
  return Object.fromEntries(keys.map((key, i) => [key, twice(names[i]) && kind(key) ? `${names[i]}, ${kind(key)}` : names[i]]));
}
// A name of the API in it, as "node_links", stays as it is.
export const sentence = (s) => (s && !/^\w*_/.test(s) ? s[0].toUpperCase() + s.slice(1) : s);
// A sentence of the service: a number keeps its unit beside it.
export const told = (s) => sentence(String(s ?? '')).replace(/(\d) (?=[mµn]?s\b|[kMGT]?B\b|%)/g, '$1\u00a0');
