// The form of any kind of plan: its problem as JSON.
import { html, useState } from './dom.js';
import { Failed, FieldError, Submit, parse, useSubmit } from './plan_request.js';

// Where to start from; a kind without one starts from the members that it needs.
const SAMPLES = {
  estimate: { model: 'llama3-8b', cluster: { preset: 'dgx-h100', nodes: 2 }, batch: { global_sequences: 128, micro: 1 }, strategy: { dp: 4, tp: 4, zero: 1, sequence_parallel: true } },
  'gradient-fusion': { gradients: [{ name: 'head', bytes: 16384000, backward_seconds: 0.004 }, { name: 'fc', bytes: 411041792, backward_seconds: 0.009 },
    { name: 'conv', bytes: 1179648, backward_seconds: 0.008 }],
  cost: [{ bytes: 1048576, seconds: 0.0006 }, { bytes: 536870912, seconds: 0.0292 }] },
  schedule: { schedule: 'zb-h1', stages: 4, micro_batches: 8, forward: 1, backward: 1, weight_gradient: 1, send_seconds: 0.05 },
  pipeline: { stages: 4, micro_batches: 16, memory_bytes: 40e9, layers: [
    { name: 'decoder', count: 32, forward: 0.01, parameters_bytes: 2e9, activation_bytes: { none: 1.2e9, full: 0.1e9 } }] },
  'layer-memory': { stages: 4, micro_batches: 8, runs: [{ stage: 1, layers: 8, peak_bytes: 41.5e9 }, { stage: 2, layers: 8, peak_bytes: 35.5e9 },
    { stage: 1, layers: 9, peak_bytes: 46.5e9 }] },
  resharding: { tensor: { shape: [3072, 1024, 170], element_bytes: 4 }, from: { mesh: [2, 4], devices_per_host: 4, sharding: [0, null, null] },
    to: { mesh: [3, 4], devices_per_host: 4, sharding: [0, null, 1] }, nic: { bytes_per_second: 12.5e9, latency_seconds: 1e-5 }, local: { bytes_per_second: 300e9 } },
  'weight-pipeline': { model: 'llama3-8b', cluster: { preset: 'dgx-h100', nodes: 2 }, batch: { global_sequences: 512, micro: 1 } },
  'embedding-placement': { model: 'llama3-8b', cluster: { preset: 'dgx-h100', nodes: 2 }, batch: { global_sequences: 128, micro: 1 }, strategy: { pp: 8, dp: 2, zero: 1 } },
  scaling: { model: 'llama3-8b', cluster: { preset: 'dgx-h100', nodes: 64 }, batch: { global_sequences: 256 } },
  'batch-schedule': { model: 'llama3-8b', cluster: { preset: 'dgx-h100', nodes: 4 }, batches: [64, 128, 256, 512, 1024, 2048], noise_scale: [100, 500, 2000] },
  'swap-or-pipeline': { devices: 8, micro_batches: 2048, forward: 0.1, weights_bytes: 2.6e9, activation_bytes: 8388608,
    link: { bytes_per_second: 1.25e8 }, host_link: { bytes_per_second: 12e9 } },
  'intra-operator': { nodes: [{ name: 'attention', options: [{ name: 'columns', seconds: 0.03, memory_bytes: 9e9 }, { name: 'rows', seconds: 0.01, memory_bytes: 20e9 }] },
    { name: 'mlp', options: [{ name: 'columns', seconds: 0.05, memory_bytes: 12e9 }, { name: 'rows', seconds: 0.02, memory_bytes: 25e9 }] }],
    edges: [{ from: 'attention', to: 'mlp', seconds: [[0, 0.004], [0.004, 0]] }], memory_bytes: 40e9 },
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
  const { submit, error, ...state } = useSubmit(() => requestOf(kind.kind, method, text));
  const methods = kind.methods ?? [];
  return html`<form class="panel plan-form" onSubmit=${submit}>
    ${methods.length > 1 && html`<div class="field"><label for="method">Method</label><select id="method" value=${method} onChange=${(e) => setMethod(e.target.value)}>
      <option value="">default (${methods[0]})</option>${methods.map((m) => html`<option value=${m}>${m}</option>`)}</select></div>`}
    <div class="field wide"><label for="problem">Problem as JSON</label><textarea id="problem" rows="14" spellcheck="false" value=${text}
      onInput=${(e) => setText(e.target.value)}></textarea></div>
    <details class="wide"><summary>What it takes</summary><pre tabindex="0" aria-label="Schema">${JSON.stringify(kind.schema ?? {}, null, 2)}</pre></details>
    <${Submit} label="Make the plan" ...${state} />
    <${Failed} error=${error} /></form>`;
}
