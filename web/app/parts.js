// Small pieces that every view uses: values, states, problems, sections.
import { html, useEffect, useState } from './dom.js';
import { DASH, MISSING, exact, isNumber, many, memberNames, quantity } from './format.js';
import { degreesText } from './strategy.js';

// A number with its unit; what is not there is a dash that says so.
export function Quantity({ value, unit, missing = MISSING }) {
  if (!isNumber(value)) return html`<span class="missing" title=${missing}>${DASH}</span>`;
  return html`<span class="number" title=${exact(value, unit)}>${quantity(value, unit)}</span>`;
}

// Runs load() whenever one of the inputs changes, and keeps the last answer while it runs.
export function useLoaded(load, inputs) {
  const [state, setState] = useState({ loading: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const control = new AbortController();
    setState((old) => ({ ...old, loading: true, error: undefined }));
    load(control.signal).then(
      (data) => !control.signal.aborted && setState({ data, loading: false }),
      (error) => !control.signal.aborted && setState({ error, loading: false }),
    );
    return () => control.abort();
  }, [...inputs, round]);
  return { ...state, again: () => setRound((n) => n + 1) };
}

export function Loading({ what }) {
  return html`<p class="quiet loading" role="status">Loading ${what}…</p>`;
}

export function Empty({ children }) {
  return html`<p class="quiet">${children}</p>`;
}

const place = (x) => {
  const parts = [];
  if (x.file) parts.push(x.file);
  if (isNumber(x.line)) parts.push(`line ${x.line.toLocaleString('en-US')}`);
  if (isNumber(x.offset)) parts.push(`byte ${x.offset.toLocaleString('en-US')}`);
  return parts.join(', ');
};

// Where in the upload: file, line, byte.
export function Place({ of }) {
  const text = place(of);
  return text ? html`<code class="place">${text}</code>` : null;
}

// Whatever a document holds beyond the members that are shown elsewhere, as words and numbers.
const UNITS = [[/(^|_)(bytes_per_second|bytes|seconds|us|share)$/, (found) => found[2]], [/(^|_)seconds_per_/, () => 'seconds'],
  [/(^|_)(efficiency|loses_by|gain|gain_over_fixed|gap|mean_error|mfu|hfu)$/, () => 'share']];
export const unitOfMember = (key) => {
  for (const [pattern, unit] of UNITS) {
    const found = pattern.exec(key);
    if (found) return unit(found);
  }
  return undefined;
};

export function Value({ name = '', value, unit }) {
  if (value === null || value === undefined) return html`<span class="missing" title="not set">${DASH}</span>`;
  if (isNumber(value)) return html`<${Quantity} value=${value} unit=${unit ?? unitOfMember(name)} />`;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((v) => typeof v !== 'object')) return value.join(', ');
  return html`<code>${JSON.stringify(value)}</code>`;
}

// names: labels of members other than those that their keys give; unit: of the numbers whose keys name none
export function Facts({ of, skip = [], names = {}, unit }) {
  const entries = Object.entries(of ?? {}).filter(([key]) => !skip.includes(key));
  if (entries.length === 0) return null;
  const labels = { ...memberNames(entries.map(([key]) => key)), ...names };
  return html`<dl class="facts">
    ${entries.map(([key, value]) => html`<div key=${key}><dt>${labels[key]}</dt><dd><${Value} name=${key} value=${value} unit=${unitOfMember(key) ?? unit} /></dd></div>`)}
  </dl>`;
}

const KNOWN = ['type', 'title', 'status', 'detail', 'instance', 'code', 'errors', 'request_id', 'file', 'line',
  'offset', 'field', 'least_memory_bytes', 'nearest', 'leanest', 'rejected', 'candidates'];

// {nodes, devices, memory_bytes, host_memory_bytes}: more devices, larger ones, or a larger host.
function changesOf(near) {
  const { nodes, devices, memory_bytes: memory, host_memory_bytes: host, ...rest } = near;
  const parts = [];
  if (isNumber(nodes) || isNumber(devices))
    parts.push([isNumber(nodes) && many(nodes, 'node'), isNumber(devices) && many(devices, 'device')].filter(Boolean).join(', '));
  if (isNumber(memory)) parts.push(`${quantity(memory, 'bytes')} a device`);
  if (isNumber(host)) parts.push(`${quantity(host, 'bytes')} of host memory a node`);
  return html`${parts.join(', or ')}<${Facts} of=${rest} />`;
}

// An infeasible problem: how much would do, and the smallest change that makes it fit.
function Nearest({ document: d }) {
  const near = d.nearest;
  if (!isNumber(d.least_memory_bytes) && !near) return null;
  return html`<dl class="facts">
    ${isNumber(d.candidates) && html`<div><dt>Candidates</dt><dd><${Quantity} value=${d.candidates} unit="" /></dd></div>`}
    ${isNumber(d.least_memory_bytes) && html`<div><dt>Least memory found</dt>
      <dd><${Quantity} value=${d.least_memory_bytes} unit="bytes" /> a device</dd></div>`}
    ${d.leanest && html`<div><dt>By the leanest plan</dt><dd><code>${degreesText(d.leanest)}</code></dd></div>`}
    ${near && typeof near === 'object' && !Array.isArray(near)
      ? html`<div><dt>Nearest change that fits</dt><dd>${changesOf(near)}</dd></div>`
      : near && html`<div><dt>Nearest change that fits</dt><dd><${Value} value=${near} /></dd></div>`}
  </dl>`;
}

export function ProblemBox({ error, again, title }) {
  const d = error.document ?? { detail: error.message };
  // the detail of a single error names its member already
  const errors = Array.isArray(d.errors) && !(d.errors.length === 1 && d.detail?.startsWith(d.errors[0].pointer)) ? d.errors : [];
  const more = Object.fromEntries(Object.entries(d).filter(([k, v]) => !KNOWN.includes(k) && v !== null));
  return html`<div class="problem" role="alert">
    <p class="problem-title">${title ?? d.title ?? 'The request failed'}${d.code && html` <code>${d.code}</code>`}</p>
    <p>${d.detail ?? error.message}</p>
    <${Place} of=${d} />
    ${d.field && html`<p>Field <code>${d.field}</code></p>`}
    ${errors.length > 0 && html`<ul>${errors.map((e) => html`<li>
      ${e.pointer && html`<code>${e.pointer}</code>${' '}`}${e.detail} <${Place} of=${e} /></li>`)}</ul>`}
    <${Nearest} document=${d} />
    <${Facts} of=${more} />
    ${again && !(error.status >= 400 && error.status < 500) && html`<button type="button" onClick=${again}>Try again</button>`}
  </div>`;
}

// A part of a view that loads by itself.
export function Loaded({ state, what, problem, children }) {
  if (state.error) return html`<${ProblemBox} error=${state.error} again=${state.again} title=${state.error.status === 422 ? problem : undefined} />`;
  if (state.data === undefined) return html`<${Loading} what=${what} />`;
  return children(state.data);
}

export function Section({ id, title, note, tools, children }) {
  return html`<section id=${id} aria-labelledby=${`${id}-title`} class="panel">
    <header class="panel-head"><h2 id=${`${id}-title`}>${title}</h2>${note && html`<p class="quiet">${note}</p>`}
      ${tools && html`<div class="tools">${tools}</div>`}</header>
    ${children}
  </section>`;
}

export const Meter = ({ share }) => html`<span class="meter" aria-hidden="true"><span
  style=${{ width: `${Math.max(0, Math.min(1, share || 0)) * 100}%` }}></span></span>`;

export function Progress({ value, what }) {
  const known = isNumber(value);
  return html`<progress max="1" aria-label=${what} ...${known ? { value } : {}}></progress>`;
}

// A button that asks once more before it acts.
export function Confirm({ label: text, question, action }) {
  const [asking, setAsking] = useState(false);
  if (!asking) return html`<button type="button" onClick=${() => setAsking(true)}>${text}</button>`;
  return html`<span class="confirm" role="group" aria-label=${question}>${question}${' '}
    <button type="button" class="danger" onClick=${action}>${text}</button>${' '}
    <button type="button" onClick=${() => setAsking(false)}>Keep</button></span>`;
}
