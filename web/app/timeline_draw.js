// The picture of a timeline: what is drawn where, in what colour, and what lies under the pointer. Times are microseconds
// from the first event; a view is {from, to}.
export const ROW = 24;
const HEAD = 3; // free above the bars of a lane
const STEP = 3; // an event inside another starts this much lower
const DEEPEST = 4;

export const GROUPS = [
  { id: 'compute', label: 'Compute', colour: '--t0', ink: '#fff', of: ['kernel', 'overlap_compute'] },
  { id: 'communication', label: 'Communication', colour: '--t1', ink: '#fff',
    of: ['communication', 'communication_task', 'overlap_communication', 'overlap_exposed'] },
  { id: 'copy', label: 'Copies', colour: '--t4', ink: '#fff', of: ['memcpy', 'memset'] },
  { id: 'wait', label: 'Waiting', colour: '--t3', ink: '#17202a', of: ['device_wait', 'host_wait'] },
  { id: 'operator', label: 'Host operators', colour: '--t2', ink: '#fff', of: ['host_op'] },
  { id: 'call', label: 'Runtime calls', colour: '--t5', ink: '#17202a', of: ['host_runtime', 'host_queue'] },
  { id: 'python', label: 'Python', colour: '--t6', ink: '#fff', of: ['host_python'] },
  { id: 'stall', label: 'Data loading, garbage collection', colour: '--bad', ink: '#17202a', of: ['host_loading', 'host_garbage'] },
  { id: 'annotation', label: 'Annotations', colour: '--t7', ink: '#17202a', of: ['host_annotation', 'device_annotation'] },
  { id: 'free', label: 'Free or other', colour: '--free', ink: null, of: ['overlap_free', 'device_other', 'other'] },
];
const BY_CATEGORY = new Map(GROUPS.flatMap((g) => g.of.map((category) => [category, g])));
export const groupOf = (category) => BY_CATEGORY.get(category) ?? GROUPS[GROUPS.length - 1];

// ---- the view ----

const ALL = 1 - 1e-9; // zooming in and out again does not end at the same double

// Keeps a view inside the whole, {from, to, least}; the whole itself is null. least: the shortest view.
function inside({ from, to }, whole) {
  const span = Math.min(to - from, whole.to - whole.from);
  const start = Math.min(Math.max(from, whole.from), whole.to - span);
  return span >= (whole.to - whole.from) * ALL ? null : { from: start, to: start + span };
}

// at: 0..1, the place that stays where it is.
export function zoom(view, whole, factor, at = 0.5) {
  const now = view ?? whole;
  const span = Math.max((now.to - now.from) * factor, Math.min(whole.least ?? 0, whole.to - whole.from));
  const from = now.from + (now.to - now.from - span) * at;
  return inside({ from, to: from + span }, whole);
}

// by: in widths of the view.
export function pan(view, whole, by) {
  const now = view ?? whole;
  const shift = (now.to - now.from) * by;
  return inside({ from: now.from + shift, to: now.to + shift }, whole);
}

// Round times for the axis, at least 90 pixels apart.
export function ticks({ from, to }, width) {
  const rough = (to - from) / Math.max(1, width / 90);
  const base = 10 ** Math.floor(Math.log10(rough));
  const step = base * ([1, 2, 5].find((n) => n * base >= rough) ?? 10);
  const list = [];
  for (let n = Math.ceil(from / step); n * step <= to && list.length < 200; n++) list.push(n * step);
  return list;
}

// ---- rows ----

// Column i of an answer as times.
const columnOf = (answer, i) => {
  const span = answer.to_us - answer.from_us;
  return { from: answer.from_us + (span * i) / answer.px, to: answer.from_us + (span * (i + 1)) / answer.px };
};

// How deep each event lies inside others of its lane, which are ordered by start, longer first.
export function depths(events) {
  const ends = [];
  return events.map(([start, dur]) => {
    while (ends.length > 0 && ends[ends.length - 1] <= start) ends.pop();
    ends.push(start + dur);
    return ends.length - 1;
  });
}

const topOf = (row, depth) => row * ROW + HEAD + Math.min(depth, DEEPEST) * STEP;

function drawEvents(canvas, lane, row, place, ink) {
  const { context: c, width } = canvas;
  const deep = depths(lane.events);
  lane.events.forEach(([start, dur, name, category], i) => {
    const left = Math.max(place(start), -1);
    const right = Math.min(Math.max(place(start + dur), left + 1), width + 1);
    if (right < 0 || left > width) return;
    const top = topOf(row, deep[i]);
    const group = groupOf(category);
    c.fillStyle = ink[group.id];
    c.fillRect(left, top, right - left, (row + 1) * ROW - 1 - top);
    if (right - left > 2) { // a seam, so that neighbours of one colour stay two
      c.fillStyle = ink.back;
      c.fillRect(right - 0.5, top, 0.5, (row + 1) * ROW - 1 - top);
    }
    const letters = Math.floor((right - left - 8) / 6.5);
    if (letters < 3 || deep[i] > 2) return;
    c.fillStyle = group.ink ?? ink.text;
    c.fillText(name.length > letters ? `${name.slice(0, letters - 1)}…` : name, Math.max(left, 0) + 4, top + 12);
  });
}

function drawBins(canvas, lane, answer, row, place, ink) {
  const { context: c, width } = canvas;
  const most = ROW - HEAD - 1;
  for (const [column, busy, category] of lane.bins) {
    const { from, to } = columnOf(answer, column);
    const left = place(from);
    const right = Math.max(place(to), left + 1);
    if (right < 0 || left > width) continue;
    const height = Math.max(1, busy * most);
    c.fillStyle = ink[groupOf(category).id];
    c.fillRect(left, (row + 1) * ROW - 1 - height, right - left, height);
  }
}

// The answer may be of another view than the one that is shown: it is stretched until the next is there.
export function draw(element, { answer, view, width, colour }) {
  const ratio = globalThis.devicePixelRatio || 1;
  const height = answer.lanes.length * ROW;
  const c = element.getContext('2d');
  const place = (us) => ((us - view.from) / (view.to - view.from)) * width;
  const ink = { back: colour('--panel'), text: colour('--text') };
  for (const g of GROUPS) ink[g.id] = colour(g.colour);
  element.width = Math.round(width * ratio);
  element.height = Math.round(height * ratio);
  c.scale(ratio, ratio);
  c.font = '11px system-ui, sans-serif';
  c.fillStyle = colour('--line');
  for (const tick of ticks(view, width)) c.fillRect(Math.round(place(tick)), 0, 1, height);
  for (let row = 1; row <= answer.lanes.length; row++) c.fillRect(0, row * ROW - 0.5, width, 0.5);
  answer.lanes.forEach((lane, row) => {
    if (lane.events) drawEvents({ context: c, width }, lane, row, place, ink);
    else drawBins({ context: c, width }, lane, answer, row, place, ink);
  });
}

// What lies at a place of the picture: {lane, event} or {lane, bin, from, to}, or null. Of events in one another the
// innermost; a narrow one counts a little wider.
export function hit({ answer, view, width }, x, y) {
  const lane = answer.lanes[Math.floor(y / ROW)];
  const us = view.from + (x / width) * (view.to - view.from);
  const slack = (1.5 / width) * (view.to - view.from);
  if (!lane) return null;
  if (lane.events) {
    let best = null;
    for (const event of lane.events)
      if (us >= event[0] - slack && us <= event[0] + event[1] + slack && (!best || event[1] <= best[1])) best = event;
    return best && { lane, event: best };
  }
  const column = Math.floor(((us - answer.from_us) / (answer.to_us - answer.from_us)) * answer.px);
  const bin = lane.bins.find(([i]) => i === column);
  return bin ? { lane, bin, ...columnOf(answer, column) } : null;
}

// How much of a view a lane is busy: 0..1.
export function busyOf(lane, answer) {
  const span = answer.to_us - answer.from_us;
  if (lane.bins) return lane.bins.reduce((sum, [, busy]) => sum + busy, 0) / answer.px;
  let sum = 0;
  let reach = answer.from_us;
  for (const [start, dur] of lane.events) {
    const end = Math.min(start + dur, answer.to_us);
    sum += Math.max(0, end - Math.max(start, reach));
    reach = Math.max(reach, end);
  }
  return span > 0 ? sum / span : 0;
}
