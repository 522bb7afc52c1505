// Memory of each device over time: what is in use below what the allocator holds.
import { getOnce, profilePath } from './api.js';
import { html, useState } from './dom.js';
import { isNumber, many, quantity } from './format.js';
import { Empty, Loaded, Quantity, Section, useLoaded } from './parts.js';
import { Table } from './table.js';

const WIDTH = 800;
const HEIGHT = 160;

const nameOf = (r) => [isNumber(r.rank) ? `rank ${r.rank}` : null, r.host ? 'host' : isNumber(r.device) ? `device ${r.device}` : null, r.component]
  .filter(Boolean).join(', ') || 'memory';

// A staircase: a value holds until the next record.
function pathOf(curve, index, x, y) {
  let path = '';
  for (const point of curve)
    if (isNumber(point[index])) path += path ? `H${x(point[0])}V${y(point[index])}` : `M${x(point[0])} ${y(point[index])}`;
  return path;
}

function Curve({ row }) {
  const { curve } = row;
  const from = curve[0]?.[0] ?? 0;
  const span = (curve[curve.length - 1]?.[0] ?? 0) - from || 1;
  const most = Math.max(row.peak_bytes ?? 0, row.reserved_peak_bytes ?? 0) || 1;
  const x = (t) => (((t - from) / span) * WIDTH).toFixed(1);
  const y = (v) => (HEIGHT - (v / most) * HEIGHT).toFixed(1);
  const label = `Memory of ${nameOf(row)}: ${[isNumber(row.peak_bytes) && `peak ${quantity(row.peak_bytes, 'bytes')}`,
    isNumber(row.reserved_peak_bytes) && `reserved ${quantity(row.reserved_peak_bytes, 'bytes')}`].filter(Boolean).join(', ')}`;
  return html`<figure class="memory-curve"><svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${label}>
    <path class="reserved" d=${pathOf(curve, 2, x, y)} /><path class="allocated" d=${pathOf(curve, 1, x, y)} /></svg>
    <figcaption class="quiet"><span class="allocated">in use</span>, <span class="reserved">reserved</span>, up to ${quantity(most, 'bytes')},
      over ${quantity(span, 'us')}</figcaption></figure>`;
}

const OPERATORS = [
  { id: 'name', label: 'Operator', className: 'name', value: (o) => o.name },
  { id: 'bytes', label: 'Holds at the peak', unit: 'bytes', value: (o) => o.bytes },
  { id: 'count', label: 'Allocations', unit: '', value: (o) => o.count },
];

function Memory({ data }) {
  const [shown, setShown] = useState(0);
  const rows = data.ranks ?? [];
  if (rows.length === 0) return html`<${Empty}>No memory is recorded in this capture: <code>profile_memory=True</code> would.<//>`;
  const row = rows[shown] ?? rows[0];
  return html`<p class="quiet">${many(rows.length, 'allocator')} of all ranks.</p>
    <label>Memory of <select value=${String(shown)} onChange=${(e) => setShown(Number(e.target.value))}>${rows.map((r, i) => html`<option value=${String(i)}>${nameOf(r)}</option>`)}</select></label>
    <dl class="facts"><div><dt>Peak</dt><dd><${Quantity} value=${row.peak_bytes} unit="bytes" />${row.relative && html` <span class="quiet">above the start</span>`}</dd></div>
      <div><dt>Reserved</dt><dd><${Quantity} value=${row.reserved_peak_bytes} unit="bytes" /></dd></div>
      <div><dt>Held in vain at the peak</dt><dd><${Quantity} value=${row.fragmentation_bytes} unit="bytes" /></dd></div>
      <div><dt>Of the device</dt><dd><${Quantity} value=${row.capacity_bytes} unit="bytes" /></dd></div></dl>
    <${Curve} row=${row} />
    ${row.operators.length > 0 && html`<${Table} caption="Who holds the memory" columns=${OPERATORS} rows=${row.operators} />`}`;
}

export function MemorySection({ id }) {
  const state = useLoaded(() => getOnce(profilePath(id, 'memory')), [id]);
  return html`<${Section} id="memory" title="Memory" note="By device and allocator.">
    <${Loaded} state=${state} what="the memory">${(data) => html`<${Memory} data=${data} />`}<//><//>`;
}
