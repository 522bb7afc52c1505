// The form of any kind of plan: its problem as JSON.
import { html, useState } from './dom.js';
import { Failed, FieldError, parse, useSubmit } from './plan_request.js';

// Where to start from; a kind without one starts from the members that it needs.
const SAMPLES = {
  schedule: { schedule: 'zb-h1', stages: 4, micro_batches: 8, forward: 1, backward: 1, weight_gradient: 1, send_seconds: 0.05 },
  pipeline: { stages: 4, micro_batches: 16, memory_bytes: 40e9, layers: [
    { name: 'decoder', count: 32, forward: 0.01, parameters_bytes: 2e9, activation_bytes: { none: 1.2e9, full: 0.1e9 } }] },
};
const sampleOf = (kind) => SAMPLES[kind.kind] ?? Object.fromEntries((kind.schema?.required ?? []).filter((name) => name !== 'kind').map((name) => [name, null]));

// A whole request is taken as well: its own kind and method win.
export function requestOf(kind, method, text) {
  const problem = parse(text, 'Problem');
  if (!problem || typeof problem !== 'object' || Array.isArray(problem)) throw new FieldError('Problem: an object is needed, { … }.');
  return { kind, ...(method && { method }), ...problem };
}

export function ProblemForm({ kind }) {
  const [text, setText] = useState(() => JSON.stringify(sampleOf(kind), null, 2));
  const [method, setMethod] = useState('');
  const { submit, busy, error } = useSubmit(() => requestOf(kind.kind, method, text));
  const methods = kind.methods ?? [];
  return html`<form class="panel plan-form" onSubmit=${submit}>
    ${methods.length > 1 && html`<div class="field"><label for="method">Method</label><select id="method" value=${method} onChange=${(e) => setMethod(e.target.value)}>
      <option value="">default (${methods[0]})</option>${methods.map((m) => html`<option value=${m}>${m}</option>`)}</select></div>`}
    <div class="field wide"><label for="problem">Problem as JSON</label><textarea id="problem" rows="14" spellcheck="false" value=${text}
      onInput=${(e) => setText(e.target.value)}></textarea></div>
    <details class="wide"><summary>What it takes</summary><pre tabindex="0" aria-label="Schema">${JSON.stringify(kind.schema ?? {}, null, 2)}</pre></details>
    <p class="wide"><button type="submit" class="primary" disabled=${busy}>${busy ? 'Searching…' : 'Make the plan'}</button></p>
    <${Failed} error=${error} /></form>`;
}
