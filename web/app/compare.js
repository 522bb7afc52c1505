// Two profiles side by side: what changed a step, and by how much.
import { get } from './api.js';
import { TIME_COLUMNS } from './breakdown.js';
import { html } from './dom.js';
import { isNumber, memberName } from './format.js';
import { FORMATS, causeOf } from './labels.js';
import { Empty, Loaded, Quantity, Section, useLoaded } from './parts.js';
import { Table } from './table.js';

const to = (base, target) => `#/compare/${[base, target].map((id) => encodeURIComponent(id || '-')).join('/')}`;

function Choice({ id, label, items, value, onChange }) {
  return html`<label for=${id}>${label} <select id=${id} value=${value ?? ''} onChange=${(e) => onChange(e.target.value)}>
    <option value="">choose a profile</option>
    ${items.map((p) => html`<option value=${p.id}>${p.name}</option>`)}</select></label>`;
}

const side = (name) => (row) => row[name]?.total_us;
// both sides and their difference in one unit, so that they can be subtracted by eye
const us = (id, label, value) => ({ id, label, value, unit: 'us', group: 'sides' });
const TIMES = [
  { id: 'part', label: 'Part', value: (r) => r.part },
  us('base', 'Base', (r) => r.base), us('target', 'Target', (r) => r.target), us('difference', 'Difference', (r) => r.difference),
];
const OPERATORS = [
  { id: 'name', label: 'Operator', className: 'name', value: (r) => r.name },
  { id: 'label', label: 'Change', value: (r) => r.label, title: 'equal: within 2 %' },
  us('base', 'Base', side('base')), us('target', 'Target', side('target')), us('difference', 'Difference', (r) => r.difference_us),
  { id: 'contribution', label: 'Share of the difference', unit: 'share', value: (r) => r.contribution, title: 'of the difference of the steps' },
  { id: 'class', label: 'Class', value: (r) => r.class },
];
const WORDS = { gone: 'removed', new: 'added', stays: 'stays' }; // those of the operators
const share = (x) => x?.share_of_step;
const FINDINGS = [
  { id: 'code', label: 'Finding', className: 'name', value: (r) => causeOf(r.code) },
  { id: 'label', label: 'Change', value: (r) => WORDS[r.label] ?? r.label },
  { id: 'base', label: 'Base', unit: 'share', value: (r) => share(r.base) },
  { id: 'target', label: 'Target', unit: 'share', value: (r) => share(r.target) },
];

// What neither side knows is left out. The names are those of the breakdown.
const partName = (member) => TIME_COLUMNS.find((c) => c.id === member)?.label ?? memberName(member);
const times = (mean) => Object.entries(mean).filter(([, v]) => isNumber(v.base) || isNumber(v.target))
  .map(([member, v]) => ({ part: partName(member), ...v }));

const About = ({ name, of }) => html`<div><dt>${name}</dt><dd><a class="name" href=${`#/profiles/${encodeURIComponent(of.id)}`}>${of.name}</a>
  <span class="quiet"> ${[FORMATS[of.format] ?? of.format, of.chip].filter(Boolean).join(', ')}</span>
  ${isNumber(of.steps) && html` <span class="quiet">· <${Quantity} value=${of.steps} unit="steps" /></span>`}</dd></div>`;

function Result({ base, target }) {
  const query = `base=${encodeURIComponent(base)}&target=${encodeURIComponent(target)}`;
  const state = useLoaded((signal) => get(`/v1/comparisons?${query}`, { signal }), [query]);
  return html`<${Loaded} state=${state} what="the comparison">${(c) => html`
    <section class="panel verdict info" aria-label="Verdict"><p class="verdict-text">${c.verdict.sentence}</p>
      <dl class="facts"><${About} name="Base" of=${c.base} /><${About} name="Target" of=${c.target} /></dl></section>
    ${c.warnings.length > 0 && html`<ul class="warnings-list">${c.warnings.map((w) => html`<li>${w.detail}</li>`)}</ul>`}
    <${Section} id="times" title="Times" note="Means of a step of one device."><${Table} caption="Times" columns=${TIMES} rows=${times(c.breakdown.mean)} /><//>
    <${Section} id="changed-findings" title="Findings" note="Shares of the step.">${c.findings.length > 0
      ? html`<${Table} caption="Findings" columns=${FINDINGS} rows=${c.findings} />` : html`<${Empty}>Neither has a finding.<//>`}<//>
    <${Section} id="changed-operators" title="Operators" note="Time a step of a device, the largest difference first.">
      <${Table} caption="Operators" columns=${OPERATORS} rows=${c.operators.rows} /><//>`}<//>`;
}

export function Compare({ base, target }) {
  const list = useLoaded((signal) => get('/v1/profiles?limit=500', { signal }), []);
  const [from, against] = [base, target].map((id) => (id && id !== '-' ? id : ''));
  const go = (b, t) => { location.hash = to(b, t); };
  return html`<h1 tabindex="-1">Compare</h1>
    <${Loaded} state=${list} what="the profiles">${({ items }) => {
      const ready = items.filter((p) => p.state === 'ready');
      return ready.length === 0 ? html`<${Empty}>There is no profile to compare yet.<//>` : html`<div class="tools compare">
        <${Choice} id="base" label="Base" items=${ready} value=${from} onChange=${(id) => go(id, against)} />
        <${Choice} id="target" label="Target" items=${ready} value=${against} onChange=${(id) => go(from, id)} />
        ${from && against && html`<button type="button" onClick=${() => go(against, from)}>Swap</button>`}</div>`;
    }}<//>
    ${from && against ? html`<${Result} key=${`${from} ${against}`} base=${from} target=${against} />`
      : html`<p class="quiet">Choose two profiles: one from before a change, and one from after it.</p>`}`;
}
