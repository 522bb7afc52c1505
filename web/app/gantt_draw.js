// The picture of a pipeline's schedule: a row a device with what it runs, and below it what it holds.
import { ticks } from './timeline_draw.js';

const OPS = 24; // height of a device's operations
const MEMORY = 22; // and of its memory
export const ROW = OPS + MEMORY + 4;
const TEXT = 6.5; // a digit is about as wide
const LIGHTER = 1 / 3; // share of white in the colours of a device's last chunk
const DARK_INK = '#17202a';

export const GROUPS = [
  { id: 'forward', label: 'Forward', colour: '--t0', ink: '#fff' },
  { id: 'backward', label: 'Backward', colour: '--t1', ink: '#fff' },
  { id: 'recompute', label: 'Recompute', colour: '--t1', ink: '#fff', hatched: true },
  { id: 'weight', label: 'Gradient of the weights', colour: '--t3', ink: DARK_INK },
];
const GROUP_OF = { forward: 'forward', backward: 'backward', backward_input: 'backward', recompute: 'recompute', weight: 'weight' };
export const KINDS = { forward: 'Forward', backward: 'Backward', backward_input: 'Backward, gradient of the input',
  recompute: 'Recompute, before the gradient is there', weight: 'Gradient of the weights', pair: 'Forward and backward, overlapped' };

// One operation of a device as an object.
export function operation(device, i) {
  const { works: w, operations: o } = device;
  const work = o.work[i];
  const kind = w.kind[work];
  return { kind, stage: w.stage[work], slice: w.slice?.[work] ?? null, start: o.start[i], length: w.length[work],
    recompute: w.recompute?.[work] ?? null, micro_batch: o.micro_batch[i],
    other_stage: kind === 'pair' ? w.other_stage[work] : null, other_micro_batch: kind === 'pair' ? o.other_micro_batch[i] : null };
}

// The first of a rising list that is greater.
function after(list, value) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// What the devices of an answer hold at most, or may: the height of the memory's picture.
export const topOf = (answer) => answer.devices.reduce((top, d) => Math.max(top, d.peak, d.cap ?? 0), 0);

function hatch(context, colour, ratio) {
  const tile = document.createElement('canvas');
  const size = Math.round(6 * ratio);
  tile.width = size;
  tile.height = size;
  const c = tile.getContext('2d');
  c.fillStyle = colour;
  c.fillRect(0, 0, size, size);
  c.strokeStyle = 'rgb(255 255 255 / 0.75)';
  c.lineWidth = 1.5 * ratio;
  for (const x of [-size, 0, size]) {
    c.beginPath();
    c.moveTo(x, size);
    c.lineTo(x + size, 0);
    c.stroke();
  }
  const pattern = context.createPattern(tile, 'repeat');
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}

// A bar with its label. Pixels are whole, and a bar that covers the middle of none is left out: where many lie in one
// column, it shows the one in its middle.
function bar(c, { left, right, top, height, fill, ink, text }) {
  const from = Math.round(left);
  const to = Math.round(right);
  if (to <= from) return;
  c.fillStyle = fill;
  c.fillRect(from, top, to - from > 3 ? to - from - 1 : to - from, height);
  if (!text || to - from < text.length * TEXT + 4) return;
  c.fillStyle = ink;
  c.fillText(text, Math.max(from, 0) + 3, top + height / 2);
}

// How a kind of work on a stage is drawn: chunks that come later on their device (or go the other way) are lighter.
function styleOf(device, kind, stage, colour) {
  const group = GROUPS.find((g) => g.id === GROUP_OF[kind]);
  const chunk = device.stages.indexOf(stage);
  if (chunk <= 0) return { fill: colour(group.colour), ink: group.ink };
  const white = (LIGHTER * chunk) / (device.stages.length - 1);
  return { fill: `color-mix(in srgb, ${colour(group.colour)} ${100 * (1 - white)}%, #fff)`, ink: DARK_INK };
}

function drawOperations(c, device, top, { place, view, width, colour, again }) {
  const { works: w, operations: o } = device;
  const pair = (work) => w.kind[work] === 'pair';
  const styles = w.kind.map((kind, work) => styleOf(device, pair(work) ? 'forward' : kind, w.stage[work], colour));
  const others = w.kind.map((kind, work) => pair(work) && styleOf(device, 'backward', w.other_stage[work], colour));
  for (let i = Math.max(0, after(o.start, view.from) - 1); i < o.start.length && o.start[i] <= view.to; i++) {
    const work = o.work[i];
    const left = Math.max(place(o.start[i]), -1);
    const right = Math.min(place(o.start[i] + w.length[work]), width + 1);
    const text = String(o.micro_batch[i]);
    const height = pair(work) ? (OPS - 2) / 2 : OPS - 2;
    bar(c, { left, right, top, height, text, ...styles[work] });
    if (pair(work)) bar(c, { left, right, top: top + height, height, text: String(o.other_micro_batch[i]), ...others[work] });
    // the mark leaves the number free
    const redone = w.kind[work] === 'recompute' ? w.length[work] : w.recompute?.[work];
    if (redone > 0)
      bar(c, { left, right: Math.min(place(o.start[i] + redone), width + 1), top: top + OPS - 8, height: 6, fill: again });
  }
}

// A staircase, and the line that it must stay below.
function drawMemory(c, device, bottom, { place, view, width, ink, top }) {
  const { time, held } = device.memory;
  const y = (v) => bottom - (top > 0 ? v / top : 0) * MEMORY;
  c.fillStyle = ink.memory;
  for (let i = 0; i < time.length; i++) {
    const left = Math.round(Math.max(place(time[i]), 0)); // whole pixels: no seams between the steps
    const right = Math.round(Math.min(i + 1 < time.length ? place(time[i + 1]) : place(ink.until), width));
    if (right > left) c.fillRect(left, y(held[i]), right - left, bottom - y(held[i]));
  }
  if (device.cap === null || view.to <= view.from) return;
  c.strokeStyle = ink.cap;
  c.setLineDash([5, 3]);
  c.beginPath();
  c.moveTo(0, Math.round(y(device.cap)) + 0.5);
  c.lineTo(width, Math.round(y(device.cap)) + 0.5);
  c.stroke();
}

// The answer may be of another view than the one that is shown: what it has of it is drawn.
export function draw(element, { answer, view, width, colour }) {
  const ratio = globalThis.devicePixelRatio || 1;
  const height = answer.devices.length * ROW;
  const c = element.getContext('2d');
  const place = (t) => ((t - view.from) / (view.to - view.from)) * width;
  element.width = Math.round(width * ratio);
  element.height = Math.round(height * ratio);
  c.scale(ratio, ratio);
  c.font = '11px system-ui, sans-serif';
  c.textBaseline = 'middle';
  const again = hatch(c, colour(GROUPS.find((g) => g.hatched).colour), ratio);
  const known = new Map(); // asking the page for a colour takes long
  const inks = (name) => known.get(name) ?? known.set(name, colour(name)).get(name);
  const ink = { memory: colour('--t7'), cap: colour('--bad'), until: answer.to };
  const top = topOf(answer);
  c.fillStyle = colour('--line');
  for (const tick of ticks(view, width)) c.fillRect(Math.round(place(tick)), 0, 1, height);
  answer.devices.forEach((device, row) => {
    c.fillStyle = colour('--line');
    c.fillRect(0, (row + 1) * ROW - 1, width, 1);
    drawMemory(c, device, (row + 1) * ROW - 2, { place, view, width, ink, top });
    drawOperations(c, device, row * ROW + 1, { place, view, width, colour: inks, again });
  });
}

// What lies at a place of the picture: {device, at, held, op}; op: number of the operation, null for none.
export function hit({ answer, view, width }, x, y) {
  const device = answer.devices[Math.floor(y / ROW)];
  if (!device) return null;
  const at = view.from + (x / width) * (view.to - view.from);
  const { works: w, operations: o, memory: m } = device;
  const i = after(o.start, at) - 1;
  const step = after(m.time, at) - 1;
  const inside = i >= 0 && y % ROW < OPS && at <= o.start[i] + w.length[o.work[i]];
  const held = step >= 0 && at <= answer.to ? m.held[step] : null;
  return inside || held !== null ? { device, at, held, op: inside ? i : null } : null;
}
