// What ran when, on one rank: a picture that zooms and moves, drawn from what the service has of the view.
import { get, profilePath } from './api.js';
import { color, html, useEffect, useLayoutEffect, useMemo, useRef, useState } from './dom.js';
import { exact, many, plain, quantity, scaleOf, words } from './format.js';
import { Empty, Loading, ProblemBox, Section } from './parts.js';
import { Table } from './table.js';
import { GROUPS, ROW, busyOf, draw, groupOf, hit, pan, ticks, zoom } from './timeline_draw.js';

const PAUSE_MS = 80; // a view is asked for when it stays this long
const IN = 1 / 1.5;
const OUT = 1.5;

// The captures to choose from: by rank, else by path.
export const choicesOf = (profile) => [
  ...(profile.ranks ?? []).map((rank) => ({ label: String(rank), query: `rank=${rank}` })),
  ...(profile.unranked ?? []).map((source) => ({ label: `unknown: ${source}`, query: `source=${encodeURIComponent(source)}` })),
];

// The answer for a view, the last one until the next is there. view null: the whole.
function useAnswer(path, query, view, width) {
  const [state, setState] = useState({});
  useEffect(() => {
    if (width === 0) return undefined;
    const control = new AbortController();
    const range = view ? `&from_us=${view.from.toFixed(3)}&to_us=${view.to.toFixed(3)}` : '';
    const timer = setTimeout(() => get(`${path}?px=${width}${query && `&${query}`}${range}`, { signal: control.signal }).then(
      (answer) => !control.signal.aborted && setState((old) => ({ answer, error: undefined,
        whole: view ? old.whole : { from: answer.from_us, to: answer.to_us } })),
      (error) => !control.signal.aborted && setState((old) => ({ ...old, error })),
    ), view ? PAUSE_MS : 0);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [path, query, view?.from, view?.to, width]);
  return state;
}

// Width in whole pixels, and a number that grows when the picture must be drawn again in other colours.
function useSurroundings(box) {
  const [width, setWidth] = useState(0);
  const [scheme, setScheme] = useState(0);
  useEffect(() => {
    const media = matchMedia('(prefers-color-scheme: dark)');
    const change = () => setScheme((n) => n + 1);
    const resized = new ResizeObserver(() => box.current && setWidth(Math.floor(box.current.clientWidth)));
    resized.observe(box.current);
    media.addEventListener('change', change);
    return () => {
      resized.disconnect();
      media.removeEventListener('change', change);
    };
  }, []);
  return { width: Math.min(width, 10000), scheme };
}

// The wheel zooms only once the pointer moved over the picture: a page that is scrolled past it goes on scrolling.
function useWheel(canvas, change) {
  const latest = useRef(change);
  latest.current = change;
  useEffect(() => {
    const element = canvas.current;
    let armed = false;
    const arm = (e) => { armed = armed || e.movementX !== 0 || e.movementY !== 0 || e.type === 'pointerdown'; };
    const disarm = () => { armed = false; };
    const turn = (e) => {
      if (!armed || e.deltaY + e.deltaX === 0) return;
      const at = e.offsetX / element.clientWidth;
      const sideways = e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY);
      const moved = latest.current((view, whole) => (sideways ? pan(view, whole, Math.sign(e.deltaX + e.deltaY) * 0.1)
        : zoom(view, whole, e.deltaY < 0 ? IN : OUT, at)));
      if (moved) e.preventDefault();
    };
    const events = [['pointermove', arm], ['pointerdown', arm], ['pointerleave', disarm], ['wheel', turn]];
    for (const [name, act] of events) element.addEventListener(name, act, { passive: false });
    window.addEventListener('scroll', disarm);
    return () => {
      for (const [name, act] of events) element.removeEventListener(name, act);
      window.removeEventListener('scroll', disarm);
    };
  }, []);
}

const KEYS = {
  '+': (v, w) => zoom(v, w, IN), '=': (v, w) => zoom(v, w, IN), '-': (v, w) => zoom(v, w, OUT), _: (v, w) => zoom(v, w, OUT),
  ArrowLeft: (v, w) => pan(v, w, -0.1), ArrowRight: (v, w) => pan(v, w, 0.1), 0: () => null, Home: () => null,
};

function Tip({ at, width }) {
  if (!at) return null;
  const { lane, event, bin, from, to } = at.found;
  const side = at.x > width / 2 ? { right: `${width - at.x + 12}px` } : { left: `${at.x + 12}px` };
  return html`<div class="timeline-tip" style=${{ ...side, top: `${at.y + 14}px` }}>${event
    ? html`<strong class="name">${event[2].length > 300 ? `${event[2].slice(0, 300)}…` : event[2]}</strong>
      <span>${groupOf(event[3]).label} (${words(event[3])})</span><span>starts at ${exact(event[0], 'us')}</span><span>lasts ${exact(event[1], 'us')}</span>`
    : html`<strong>${lane.name}</strong><span>${many(bin[3], 'event')} ${bin[3] === 1 ? 'starts' : 'start'} here</span>
      <span>${quantity(bin[1], 'share')} busy, most of it ${words(bin[2])}</span><span>${exact(from, 'us')} to ${exact(to, 'us')}</span>`}</div>`;
}

function Axis({ view, width }) {
  const unit = scaleOf('us', view.to);
  const digits = Math.max(0, Math.ceil(Math.log10(unit.factor / (view.to - view.from))) + 1);
  return html`<div class="timeline-axis" aria-hidden="true">${ticks(view, width).map((t) => html`<span key=${t}
    style=${{ left: `${((t - view.from) / (view.to - view.from)) * 100}%` }}>${plain(t / unit.factor, digits)} ${unit.label}</span>`)}</div>`;
}

function Picture({ answer, view, width, scheme, canvas, change }) {
  const [at, setAt] = useState(null);
  const drag = useRef(null);
  const picture = { answer, view, width, colour: color };
  useLayoutEffect(() => draw(canvas.current, picture), [answer, view.from, view.to, width, scheme]);
  useEffect(() => setAt(null), [answer, view.from, view.to]);
  useWheel(canvas, change);
  const down = (e) => {
    if (e.button !== 0) return;
    drag.current = e.clientX;
    e.currentTarget.setPointerCapture(e.pointerId);
  };
  const move = (e) => {
    if (drag.current !== null && e.buttons & 1) {
      const by = (drag.current - e.clientX) / width;
      drag.current = e.clientX;
      change((v, whole) => pan(v, whole, by));
      return;
    }
    const found = hit(picture, e.offsetX, e.offsetY);
    setAt(found && { found, x: e.offsetX, y: e.offsetY });
  };
  const key = (e) => {
    const act = !e.ctrlKey && !e.metaKey && !e.altKey && KEYS[e.key];
    if (!act) return;
    e.preventDefault();
    change(act);
  };
  const label = `Timeline of ${many(answer.lanes.length, 'lane')} from ${quantity(view.from, 'us')} to ${quantity(view.to, 'us')}`;
  return html`<canvas ref=${canvas} tabindex="0" role="application" aria-label=${label} aria-describedby="timeline-keys"
      data-from=${view.from} data-to=${view.to} style=${{ height: `${answer.lanes.length * ROW}px` }}
      onPointerDown=${down} onPointerMove=${move} onPointerUp=${() => (drag.current = null)} onPointerCancel=${() => (drag.current = null)}
      onPointerLeave=${() => setAt(null)} onKeyDown=${key}></canvas>
    <${Tip} at=${at} width=${width} />`;
}

const COLUMNS = [
  { id: 'name', label: 'Lane', className: 'name', value: (l) => l.name }, { id: 'kind', label: 'Kind', value: (l) => l.kind },
  { id: 'device', label: 'Device', value: (l) => l.device },
  { id: 'count', label: 'Events', unit: '', value: (l) => l.count, title: 'that start in view' },
  { id: 'busy', label: 'Busy', unit: 'share', value: (l) => l.busy, title: 'share of the view that its events cover' },
];

function LeftOut({ of }) {
  if (of.lanes === 0) return null;
  return html`<p class="warn" role="status">Not shown: ${many(of.lanes, 'lane')} with ${many(of.events, 'event')} in view. Devices come
    first, then the lanes with the most events; a shorter view shows others.</p>`;
}

function Legend({ lanes }) {
  const there = useMemo(() => new Set(lanes.flatMap((l) => (l.events ? l.events.map((e) => groupOf(e[3])) : l.bins.map((b) => groupOf(b[2]))))), [lanes]);
  return html`<ul class="legend" aria-label="Kinds of events">${GROUPS.filter((g) => there.has(g)).map((g) => html`<li key=${g.id}><span
    class="swatch" style=${{ background: `var(${g.colour})` }} aria-hidden="true"></span>${g.label}</li>`)}</ul>`;
}

function Timeline({ path, query }) {
  const box = useRef(null);
  const canvas = useRef(null);
  const [view, setView] = useState(null);
  const latest = useRef(null); // several moves may come before the next drawing
  const { width, scheme } = useSurroundings(box);
  const { answer, whole, error } = useAnswer(path, query, view, width);
  const shown = view ?? whole;
  const rows = useMemo(() => answer?.lanes.map((l) => ({ ...l, busy: busyOf(l, answer) })), [answer]); // a drag draws many times
  const full = answer && answer.lanes.length > 0 && shown.to > shown.from;
  // true when there was something to change
  const change = (act) => {
    if (!whole) return false;
    const old = latest.current;
    latest.current = act(old, whole);
    setView(latest.current);
    return latest.current !== old;
  };
  const button = (text, label, act, off) => html`<button type="button" aria-label=${label} title=${label} disabled=${off}
    onClick=${() => change(act)}>${text}</button>`;
  return html`${error && html`<${ProblemBox} error=${error} />`}
    ${!answer && !error && html`<${Loading} what="the timeline" />`}
    ${answer && !full && html`<${Empty}>This capture has no events to show.<//>`}
    ${full && html`<div class="timeline-head"><${Legend} lanes=${answer.lanes} />
      <span class="tools">${button('−', 'Zoom out', KEYS['-'], !view)}${button('+', 'Zoom in', KEYS['+'])}
        ${button('‹', 'Earlier', KEYS.ArrowLeft, !view)}${button('›', 'Later', KEYS.ArrowRight, !view)}${button('Whole', 'Show the whole', KEYS.Home, !view)}</span></div>
      <${LeftOut} of=${answer.left_out} />`}
    <div class="timeline">
      <div class="timeline-names" aria-hidden="true">${full && answer.lanes.map((l) => html`<span key=${l.id} title=${l.name}>${l.name}</span>`)}</div>
      <div class="timeline-time" ref=${box}>${full && html`<${Axis} view=${shown} width=${width} />
        <${Picture} answer=${answer} view=${shown} width=${width} scheme=${scheme} canvas=${canvas} change=${change} />`}</div></div>
    ${full && html`<p class="quiet" id="timeline-keys">The wheel or + and − zoom, dragging or the arrow keys move, 0 shows the whole.</p>
      <details><summary>The lanes in numbers</summary><${Table} caption="Lanes in view" columns=${COLUMNS} rows=${rows} rowKey=${(l) => l.id} /></details>`}`;
}

export function TimelineSection({ profile }) {
  const choices = useMemo(() => choicesOf(profile), [profile]);
  const [chosen, setChosen] = useState(0);
  const several = choices.length > 1;
  const query = several ? choices[chosen].query : '';
  return html`<${Section} id="timeline" title="Timeline" note="What ran when, on one rank." tools=${several && html`<label>Rank
      <select value=${String(chosen)} onChange=${(e) => setChosen(Number(e.target.value))}>${choices.map((c, i) => html`<option
        value=${String(i)}>${c.label}</option>`)}</select></label>`}>
    <${Timeline} key=${query} path=${profilePath(profile.id, 'timeline')} query=${query} /><//>`;
}
