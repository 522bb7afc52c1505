// A picture over time that zooms and moves: what a profile's timeline and a plan's schedule have in common.
import { get } from './api.js';
import { color, html, useEffect, useLayoutEffect, useRef, useState } from './dom.js';
import { plain, scaleOf } from './format.js';
import { pan, ticks, zoom } from './timeline_draw.js';

const PAUSE_MS = 80; // a view is asked for when it stays this long
const IN = 1 / 1.5;
const OUT = 1.5;

// The answer for a view, the last one until the next is there. view null: the whole. urlOf(view) is what to ask for,
// wholeOf(answer) the whole as an answer for it tells.
export function useAnswer(urlOf, wholeOf, view, inputs, ready) {
  const [state, setState] = useState({});
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (!ready) return undefined;
    const control = new AbortController();
    const timer = setTimeout(() => get(urlOf(view), { signal: control.signal }).then(
      (answer) => !control.signal.aborted && setState((old) => ({ answer, error: undefined, whole: view ? old.whole : wholeOf(answer) })),
      (error) => !control.signal.aborted && setState((old) => ({ ...old, error })),
    ), view ? PAUSE_MS : 0);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [...inputs, view?.from, view?.to, ready, round]);
  return { ...state, again: () => setRound((n) => n + 1) };
}

// The view, null for the whole; changer(whole) gives a function that acts on it, true when there was something to change.
export function useView() {
  const [view, setView] = useState(null);
  const latest = useRef(null); // several moves may come before the next drawing
  const changer = (whole) => (act) => {
    if (!whole) return false;
    const old = latest.current;
    latest.current = act(old, whole);
    setView(latest.current);
    return latest.current !== old;
  };
  return { view, changer };
}

// Width in whole pixels, and a number that grows when the picture must be drawn again in other colours.
export function useSurroundings(box) {
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

export function ZoomButtons({ view, change }) {
  const button = (text, label, act, off) => html`<button type="button" aria-label=${label} title=${label} disabled=${off}
    onClick=${() => change(act)}>${text}</button>`;
  return html`<span class="tools">${button('−', 'Zoom out', KEYS['-'], !view)}${button('+', 'Zoom in', KEYS['+'])}
    ${button('‹', 'Earlier', KEYS.ArrowLeft, !view)}${button('›', 'Later', KEYS.ArrowRight, !view)}${button('Whole', 'Show the whole', KEYS.Home, !view)}</span>`;
}

// unit: of the times, "" where they have none.
export function Axis({ view, width, unit }) {
  const scale = scaleOf(unit, view.to);
  const digits = Math.min(20, Math.max(0, Math.ceil(Math.log10(scale.factor / (view.to - view.from))) + 1));
  return html`<div class="timeline-axis" aria-hidden="true">${ticks(view, width).map((t) => html`<span key=${t}
    style=${{ left: `${((t - view.from) / (view.to - view.from)) * 100}%` }}>${plain(t / scale.factor, digits)} ${scale.label}</span>`)}</div>`;
}

function Tip({ at, width, children }) {
  const side = at.x > width / 2 ? { right: `${width - at.x + 12}px` } : { left: `${at.x + 12}px` };
  return html`<div class="timeline-tip" style=${{ ...side, top: `${at.y + 14}px` }}>${children}</div>`;
}

// The canvas. draw(element, picture) and hit(picture, x, y) know what is in it, tell(found) says what was hit; `of` is
// the answer that is drawn.
export function Picture({ of, view, width, scheme, canvas, change, draw, hit, tell, height, label, keys }) {
  const [at, setAt] = useState(null);
  const drag = useRef(null);
  const picture = { answer: of, view, width, colour: color };
  useLayoutEffect(() => draw(canvas.current, picture), [of, view.from, view.to, width, scheme]);
  useEffect(() => setAt(null), [of, view.from, view.to]);
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
  return html`<canvas ref=${canvas} tabindex="0" role="application" aria-label=${label} aria-describedby=${keys}
      data-from=${view.from} data-to=${view.to} style=${{ height: `${height}px` }}
      onPointerDown=${down} onPointerMove=${move} onPointerUp=${() => (drag.current = null)} onPointerCancel=${() => (drag.current = null)}
      onPointerLeave=${() => setAt(null)} onKeyDown=${key}></canvas>
    ${at && html`<${Tip} at=${at} width=${width}>${tell(at.found)}<//>`}`;
}

export const KeysHelp = ({ id }) => html`<p class="quiet" id=${id}>The wheel or + and − zoom, dragging or the arrow keys move, 0 shows the whole.</p>`;
