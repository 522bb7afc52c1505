// Time against memory: the plans that no other plan beats in both.
import { color, html, useEffect, useMemo, useRef, useState } from './dom.js';
import { quantity, scaleOf } from './format.js';
import { Section } from './parts.js';
import { degreesText } from './strategy.js';
import { Table } from './table.js';

const COLUMNS = [
  { id: 'bytes', label: 'Memory a device', unit: 'bytes', value: (p) => p.bytes },
  { id: 'seconds', label: 'Step', unit: 'seconds', value: (p) => p.seconds },
  { id: 'strategy', label: 'Strategy', className: 'name', value: (p) => degreesText(p.solution), cell: (p) => html`<code>${degreesText(p.solution)}</code>` },
];

// The frontier, the runners-up and the chosen plan over one axis of memory, in the units that suit them.
export function seriesOf(plan) {
  const chosen = { bytes: plan.predicted.memory_bytes, seconds: plan.predicted.step_seconds, solution: plan.solution };
  const others = (plan.alternatives ?? []).map((a) => ({ bytes: a.predicted?.memory_bytes, seconds: a.predicted?.step_seconds, solution: a.solution }));
  const points = [...(plan.frontier ?? []).map((p) => ({ ...p, kind: 1 })), ...others.map((p) => ({ ...p, kind: 2 })), { ...chosen, kind: 3 }]
    .filter((p) => p.bytes > 0 && p.seconds > 0).sort((a, b) => a.bytes - b.bytes || a.kind - b.kind);
  const x = scaleOf('bytes', Math.max(...points.map((p) => p.bytes)));
  const y = scaleOf('seconds', Math.max(...points.map((p) => p.seconds)));
  const line = (kind) => points.map((p) => (p.kind === kind ? p.seconds / y.factor : null));
  return { points, x, y, data: [points.map((p) => p.bytes / x.factor), line(1), line(2), line(3)] };
}

function options({ x, y }, width, onPoint, steps) {
  const axis = (label) => ({ label, stroke: color('--muted'), grid: { stroke: color('--line'), width: 1 }, ticks: { stroke: color('--line') }, labelSize: 20, labelGap: 2, font: '12px system-ui', labelFont: '12px system-ui' });
  const dots = (label, stroke, size, extra) => ({ label, stroke, fill: stroke, width: 0, paths: () => null, points: { show: true, size, fill: stroke, stroke }, ...extra });
  return {
    width, height: Math.min(320, Math.max(220, width * 0.4)), legend: { show: false }, cursor: { drag: { x: false, y: false } },
    // the outermost dots stand inside, and a second one at the last place is drawn too
    scales: { x: { time: false, range: (u, low, high) => [low - (high - low || high) / 50, high + (high - low || high) / 50] } }, axes: [axis(`Memory a device (${x.label})`), axis(`Step (${y.label})`)],
    series: [{}, { ...dots('Frontier', color('--compute'), 8), width: 1.5, fill: undefined, spanGaps: true, paths: steps },
      dots('Runners-up', color('--muted'), 6), dots('Chosen', color('--exposed'), 13)],
    hooks: { setCursor: [(u) => onPoint(u.cursor.idx)] },
  };
}

function Chart({ series, onPoint }) {
  const box = useRef(null);
  useEffect(() => {
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    let plot = null;
    let gone = false;
    let Plot = null;
    let width = 0;
    const draw = () => {
      width = box.current?.clientWidth ?? 0;
      if (gone || !Plot || width === 0) return;
      plot?.destroy();
      plot = new Plot(options(series, width, onPoint, Plot.paths.stepped({ align: 1 })), series.data, box.current);
      box.current.dataset.drawn = 'yes';
    };
    const resized = new ResizeObserver(() => box.current && box.current.clientWidth !== width && draw());
    resized.observe(box.current);
    scheme.addEventListener('change', draw);
    // loaded only here: no other view needs it
    import('uplot').then((module) => {
      Plot = module.default;
      draw();
    });
    return () => {
      gone = true;
      resized.disconnect();
      scheme.removeEventListener('change', draw);
      plot?.destroy();
    };
  }, [series]);
  const label = `Step time against memory of ${series.points.length} plans; the same points are in the table below`;
  return html`<div ref=${box} class="chart" role="img" aria-label=${label}></div>`;
}

export function FrontierSection({ plan }) {
  const series = useMemo(() => seriesOf(plan), [plan]);
  const [at, setAt] = useState(null);
  const point = series.points[at];
  if ((plan.frontier ?? []).length === 0) return null;
  return html`<${Section} id="frontier" title="Frontier" note="Time against memory: no other plan is better in both.">
    <ul class="legend" aria-label="Kinds of points"><li><span class="dot compute" aria-hidden="true"></span>frontier</li>
      <li><span class="dot runner" aria-hidden="true"></span>runners-up</li><li><span class="dot chosen" aria-hidden="true"></span>chosen</li></ul>
    <${Chart} series=${series} onPoint=${setAt} />
    <p class="point">${point ? html`<span class="number">${quantity(point.seconds, 'seconds')}</span> at <span class="number">${quantity(point.bytes, 'bytes')}</span>: <code>${degreesText(point.solution)}</code>`
      : html`<span class="quiet">Point at the plot to see a plan.</span>`}</p>
    <details><summary>The points</summary><${Table} caption="Frontier" columns=${COLUMNS} rows=${plan.frontier} sort=${{ id: 'seconds', down: false }} /></details><//>`;
}
