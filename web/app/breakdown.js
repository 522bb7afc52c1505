// Where the time of each rank went: one bar a rank and device, for one step or for the whole capture.
import { getOnce, profilePath } from './api.js';
import { Bar, Legend, measured, totalOf } from './bars.js';
import { html, useMemo, useState } from './dom.js';
import { isNumber, many } from './format.js';
import { PARTS } from './labels.js';
import { Empty, Loaded, Section, useLoaded } from './parts.js';
import { Table } from './table.js';

const FEW = 32;
const WHOLE = 'whole';
const nameOf = (row) => [isNumber(row.rank) ? `Rank ${row.rank}` : 'Rank –', isNumber(row.device) && `device ${row.device}`]
  .filter(Boolean).join(' · ');

const us = (id, label, title) => ({ id, label, title, unit: 'us', value: (row) => row[id] });
export const TIME_COLUMNS = [
  { id: 'rank', label: 'Rank', value: (r) => r.rank }, { id: 'device', label: 'Device', value: (r) => r.device },
  us('compute_us', 'Compute', 'kernels that are no collectives'),
  us('communication_us', 'Communication', 'all of it, hidden or not'),
  us('communication_exposed_us', 'Exposed', 'communication with no computation under it'),
  us('overlap_us', 'Overlap', 'communication that runs under computation'),
  us('copy_us', 'Copy', 'copies between host and device, and fills'),
  us('copy_exposed_us', 'Copy exposed', 'copies with neither computation nor communication under them'),
  us('free_us', 'Free', 'the device did nothing'), us('bubble_us', 'Bubble', 'waiting to receive from another stage'),
  us('preparing_us', 'Preparing', 'before the first kernel of the step'), us('busy_us', 'Busy', 'span without free'),
  us('span_us', 'Span', 'first start to last end on the device'), us('step_us', 'Step', 'the step as the host saw it'),
];

const ORDERS = {
  rank: { label: 'rank', of: null },
  free: { label: 'most free', of: (r) => r.free_us },
  exposed: { label: 'most exposed', of: (r) => r.communication_exposed_us },
  compute: { label: 'most compute', of: (r) => r.compute_us },
  total: { label: 'longest', of: (r) => totalOf(PARTS, r) },
};

function Controls({ steps, step, setStep, order, setOrder, several }) {
  return html`<label>Step <select value=${step} onChange=${(e) => setStep(e.target.value)}>
      <option value=${WHOLE}>whole capture</option>${steps.map((s) => html`<option value=${String(s)}>${s}</option>`)}</select></label>
    ${several && html`<label>Order <select value=${order} onChange=${(e) => setOrder(e.target.value)}>
      ${Object.entries(ORDERS).map(([id, o]) => html`<option value=${id}>${o.label}</option>`)}</select></label>`}`;
}

function Breakdown({ rows }) {
  const steps = useMemo(() => [...new Set(rows.map((r) => r.step).filter(isNumber))].sort((a, b) => a - b), [rows]);
  const [step, setStep] = useState(WHOLE);
  const [order, setOrder] = useState('rank');
  const [all, setAll] = useState(false);
  const chosen = useMemo(() => {
    const some = rows.filter((r) => (step === WHOLE ? !isNumber(r.step) : r.step === Number(step)));
    const by = ORDERS[order].of;
    return by ? [...some].sort((a, b) => (by(b) ?? -1) - (by(a) ?? -1)) : some;
  }, [rows, step, order]);
  if (rows.length === 0) return html`<${Empty}>This capture has no time to split.<//>`;
  const widest = Math.max(1e-9, ...chosen.map((row) => totalOf(PARTS, row)));
  const shown = all ? chosen : chosen.slice(0, FEW);
  return html`<div class="tools"><${Controls} steps=${steps} step=${step} setStep=${setStep} order=${order} setOrder=${setOrder} several=${chosen.length > 1} /></div>
    ${chosen.some((row) => measured(PARTS, row)) ? html`<${Legend} parts=${PARTS} rows=${chosen} />`
      : html`<${Empty}>This capture has no device events, so only host times are known.<//>`}
    <ul class="bars" aria-label="Time by rank">${shown.map((row, i) => html`<${Bar} key=${i} parts=${PARTS} row=${row}
      name=${nameOf(row)} widest=${widest} instead=${row.step_us} />`)}</ul>
    ${chosen.length > shown.length && html`<p class="more"><button type="button" onClick=${() => setAll(true)}>Show all ${many(chosen.length, 'bar')}</button></p>`}
    <details><summary>The numbers</summary><${Table} key=${step} caption="Breakdown in numbers" columns=${TIME_COLUMNS} rows=${chosen} /></details>`;
}

export function BreakdownSection({ id }) {
  const state = useLoaded(() => getOnce(profilePath(id, 'breakdown')), [id]);
  return html`<${Section} id="breakdown" title="Breakdown" note="Time on the device, by rank.">
    <${Loaded} state=${state} what="the breakdown">${({ rows }) => html`<${Breakdown} rows=${rows} />`}<//><//>`;
}
