// Which layers stand on which stage of a strategy, and where its seconds and bytes go.
import { html } from './dom.js';
import { ranges } from './format.js';
import { Section } from './parts.js';
import { Table } from './table.js';

const span = (first, count) => (count > 1 ? `${first}–${first + count - 1}` : `${first}`);

// "0–2, 12, 22": a chunk each, from layer 0 on; one without layers holds the embedding or the head alone
export const layersText = ({ first_layer: first, layers, chunks }) => (chunks ?? [{ first_layer: first, layers }])
  .map((c) => (c.layers > 0 ? span(c.first_layer, c.layers) : 'none')).join(', ');

export function recomputeText(s) {
  const n = s.recompute_layers ?? s.checkpointed_layers;
  const kind = s.recompute ?? (n > 0 ? 'full' : 'none');
  return kind !== 'none' && n < s.layers ? `${kind}, ${n} of ${s.layers} layers` : kind;
}

const STAGES = [
  { id: 'stage', label: 'Stage', unit: '', value: (s) => s.stage }, { id: 'layers', label: 'Layers', unit: '', value: (s) => s.layers },
  { id: 'which', label: 'Which', className: 'reason', value: layersText }, { id: 'recompute', label: 'Recompute', value: recomputeText },
];

export function Stages({ solution: { stages = [], vpp } }) {
  if (stages.length < 2) return null;
  return html`<details id="stages"><summary>${stages.length} stages</summary>
    ${vpp > 1 && html`<p class="quiet">The layers of each chunk of a stage, from 0 on. A chunk without any has the embedding or the head.</p>`}
    <${Table} caption="Stages" columns=${STAGES} rows=${stages.map((s, i) => ({ ...s, stage: i }))} /></details>`;
}

const SPENT = [
  { id: 'stages', label: 'Stages', value: (s) => span(s.first_stage, s.stages) }, { id: 'layers', label: 'Layers', unit: '', value: (s) => s.layers },
  { id: 'forward', label: 'Forward', unit: 'seconds', value: (s) => s.forward_seconds }, { id: 'backward', label: 'Backward', unit: 'seconds', value: (s) => s.backward_seconds },
  { id: 'exchange', label: 'Exchange', unit: 'seconds', value: (s) => s.exchange_seconds }, { id: 'optimizer', label: 'Optimizer', unit: 'seconds', value: (s) => s.optimizer_seconds },
  { id: 'memory', label: 'Memory', unit: 'bytes', value: (s) => s.memory_bytes }, { id: 'host', label: 'On the host', unit: 'bytes', value: (s) => s.host_bytes },
];
const GROUPS = {
  tensor: 'Tensor ranks', tensor_x: 'Tensor ranks, tp_x', tensor_y: 'Tensor ranks, tp_y', context: 'Context ranks', expert: 'Expert ranks',
  pipeline: 'Stages', gradients: 'Gradients and weights', host: 'Device and host',
};
const SENT = [
  { id: 'between', label: 'Between', className: 'reason', value: (t) => GROUPS[t.between] ?? t.between }, { id: 'ranks', label: 'Ranks', unit: '', value: (t) => t.ranks },
  { id: 'inside', label: 'On one node', unit: '', value: (t) => t.ranks_inside, title: 'ranks of the group that share the innermost links, where they lie worst' },
  { id: 'bytes', label: 'Sent', unit: 'bytes', value: (t) => t.bytes }, { id: 'seconds', label: 'Takes', unit: 'seconds', value: (t) => t.seconds },
  { id: 'hidden', label: 'Hidden', unit: 'seconds', value: (t) => t.hidden_seconds }, { id: 'exposed', label: 'Exposed', unit: 'seconds', value: (t) => t.exposed_seconds },
];

export function ExplanationSection({ explanation: e }) {
  if (!e) return null;
  return html`<${Section} id="explanation" title="Where it goes" note="Forward and backward are of one micro-batch, all else is of a step.">
    <${Table} caption="Time and memory by stage" columns=${SPENT.filter((c) => c.id !== 'host' || e.stages.some((s) => s.host_bytes > 0))} rows=${e.stages} />
    ${e.traffic.length > 0 && html`<h3>What a device sends</h3><${Table} caption="What a device sends" columns=${SENT} rows=${e.traffic} missing="not told apart" />`}<//>`;
}
