// Plans of a pipeline: what its stages hold, what its schedule takes, and who runs what when.
import { html } from './dom.js';
import { ExportSection } from './export.js';
import { isNumber, many, plain, told, words } from './format.js';
import { ScheduleSection } from './gantt.js';
import { Facts, Section } from './parts.js';
import { Big, Quality } from './plan_parts.js';
import { Table } from './table.js';

const most = (list) => (Array.isArray(list) && list.length > 0 ? Math.max(...list) : null);

function Headline({ plan: { predicted: p } }) {
  const bytes = most(p.memory_bytes);
  return html`<dl class="bigs">
    <${Big} name="Makespan, predicted" value=${p.makespan} unit="" note="in the unit of the times" />
    <${Big} name="Bubble" value=${p.bubble_share} unit="share" note="of all devices’ time" />
    ${isNumber(p.bottleneck) && html`<${Big} name="Bottleneck" value=${p.bottleneck} unit="" note="a pair of the steady phase" />`}
    ${bytes !== null && html`<${Big} name="Memory, at most" value=${bytes} unit="bytes" note="on one device" />`}
    ${p.peak && html`<${Big} name="In flight, at most" value=${most(p.peak)} unit="" note="activations on one device" />`}
  </dl>`;
}

// A row a device and chunk: layers, and how many of them recompute what.
function rowsOf({ layers, recompute = {} }) {
  return layers.flatMap((row, chunk) => row.map((n, device) => ({ device, chunk, layers: n,
    ...Object.fromEntries(Object.entries(recompute).map(([kind, rows]) => [`recompute ${kind}`, rows[chunk]?.[device]])) })));
}

function Cut({ solution }) {
  if (!Array.isArray(solution.layers) || !solution.layers.every(Array.isArray)) return null;
  const rows = rowsOf(solution);
  const kinds = Object.keys(solution.recompute ?? {}).filter((k) => k !== 'none');
  const columns = [{ id: 'device', label: 'Device', unit: '', value: (r) => r.device },
    ...(solution.layers.length > 1 ? [{ id: 'chunk', label: 'Chunk', unit: '', value: (r) => r.chunk }] : []),
    { id: 'layers', label: 'Layers', unit: '', value: (r) => r.layers },
    ...kinds.map((k) => ({ id: k, label: `Recompute ${k}`, unit: '', value: (r) => r[`recompute ${k}`] }))];
  return html`<${Table} caption="Stages" columns=${columns} rows=${rows} />`;
}

const FORMATS = [['megatron', 'Megatron-LM'], ['mindformers', 'MindFormers'], ['sapp', 'SAPP']];

const shortOf = ({ method, solution: s }) => [method, s?.schedule, s?.interleave > 1 && `${s.interleave} chunks`].filter(Boolean).join(', ');
const ALTERNATIVES = [
  { id: 'plan', label: 'Plan', className: 'name', value: shortOf },
  { id: 'makespan', label: 'Makespan', unit: '', value: (a) => a.predicted?.makespan },
  { id: 'memory', label: 'Memory, at most', unit: 'bytes', value: (a) => most(a.predicted?.memory_bytes) },
  { id: 'loses', label: 'Loses by', unit: 'share', value: (a) => a.loses_by },
  { id: 'reason', label: 'Why', className: 'reason', value: (a) => told(a.reason) },
];
const REJECTED = [
  { id: 'plan', label: 'Ruled out', className: 'name', value: (r) => shortOf({ method: r.example?.method, solution: r.example }) },
  { id: 'reason', label: 'Why', className: 'reason', value: (r) => r.example?.detail ?? told(words(r.reason)) },
  { id: 'count', label: 'Candidates', unit: '', value: (r) => r.count },
];

// Micro-batches that are not all of one size: "6 of 4 samples, then 2 of 3 samples".
const runsText = (runs) => runs.map((r) => `${plain(r.count)} of ${many(r.samples, 'sample')}`).join(', then ');

// What a plan can be written for; a division of samples where its micro-batches have one size.
const formatsOf = ({ kind, solution: s }) => (kind !== 'pipeline' ? [] : s.recompute ? FORMATS : s.micro_batch_runs?.length === 1 ? FORMATS.slice(0, 2) : []);

export function PipelinePlan({ plan }) {
  const { solution, alternatives = [], rejected = [] } = plan;
  const formats = formatsOf(plan);
  return html`<${Headline} plan=${plan} /><${ScheduleSection} plan=${plan} />
    <${Section} id="stages" title="Stages" note="What each device holds."><${Facts} of=${solution} skip=${['layers', 'recompute', 'types', 'order', 'micro_batch_sizes', 'micro_batch_runs']} />
      ${Array.isArray(solution.micro_batch_runs) && html`<p>Micro-batches: ${runsText(solution.micro_batch_runs)}.</p>`}
      <${Cut} solution=${solution} /><${Quality} quality=${plan.quality} /><//>
    ${(alternatives.length > 0 || rejected.length > 0) && html`<${Section} id="alternatives" title="Why not another" note="The runners-up, and what was ruled out.">
      ${alternatives.length > 0 && html`<${Table} caption="Alternatives" columns=${ALTERNATIVES} rows=${alternatives} />`}
      ${rejected.length > 0 && html`<${Table} caption="Ruled out" columns=${REJECTED} rows=${rejected} />`}<//>`}
    ${formats.length > 0 && html`<${ExportSection} id=${plan.id} formats=${formats} />`}`;
}
