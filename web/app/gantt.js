// What each device of a planned pipeline runs when, and what it holds meanwhile.
import { planPath } from './api.js';
import { html, useMemo, useRef, useState } from './dom.js';
import { exact, many, plain, quantity } from './format.js';
import { GROUPS, KINDS, ROW, draw, hit, operation } from './gantt_draw.js';
import { Empty, Loading, ProblemBox, Section } from './parts.js';
import { Table } from './table.js';
import { Axis, KeysHelp, Picture, ZoomButtons, useAnswer, useSurroundings, useView } from './time_view.js';

const SHOWN = 128; // devices in one picture: canvases have a greatest height
const LEAST = 1e-6; // of the whole: the shortest view

// Half a view more on both sides, so that there is something to drag into the picture.
const around = ({ from, to }) => `from=${Math.max(0, from - (to - from) / 2)}&to=${to + (to - from) / 2}`;

const memoryText = (v, answer) => (answer.memory_unit === 'bytes' ? quantity(v, 'bytes') : many(v, 'activation'));

function tellOperation(device, op) {
  const o = operation(device, op);
  return html`<strong>${KINDS[o.kind] ?? o.kind}</strong>
    ${o.kind === 'pair' ? html`<span>forward of micro-batch ${o.micro_batch} on stage ${o.stage}</span><span>backward of micro-batch ${o.other_micro_batch} on stage ${o.other_stage}</span>`
      : html`<span>micro-batch ${o.micro_batch}${o.slice !== null && `, slice ${o.slice}`}, stage ${o.stage}</span>`}
    <span>starts at ${exact(o.start, '')}</span><span>lasts ${exact(o.length, '')}${o.recompute > 0 && `, ${exact(o.recompute, '')} of it recomputing`}</span>`;
}

const telling = (answer) => ({ device, at, held, op }) => html`${op !== null ? tellOperation(device, op) : html`<strong>Device ${device.device}</strong><span>at ${plain(at)}</span>`}
  ${held !== null && html`<span>holds ${memoryText(held, answer)}${device.cap !== null && ` of ${memoryText(device.cap, answer)}`}</span>`}`;

function Legend({ answer }) {
  const kinds = new Set(answer.devices.flatMap((d) => d.works.kind));
  const there = { forward: kinds.has('forward') || kinds.has('pair'), backward: ['backward', 'backward_input', 'pair'].some((k) => kinds.has(k)),
    weight: kinds.has('weight'), recompute: kinds.has('recompute') || answer.devices.some((d) => d.works.recompute?.some((r) => r > 0)) };
  const cap = answer.devices.some((d) => d.cap !== null);
  return html`<ul class="legend" aria-label="Kinds of operations">${GROUPS.filter((g) => there[g.id]).map((g) => html`<li key=${g.id}><span
      class=${`swatch ${g.hatched ? 'hatched' : ''}`} style=${{ backgroundColor: `var(${g.colour})` }} aria-hidden="true"></span>${g.label}</li>`)}
    ${answer.chunks > 1 && html`<li><span class="swatch lighter" aria-hidden="true"></span>Lighter: a later chunk of the device${answer.schedule === 'dualpipe' && ', or the other way'}</li>`}
    <li><span class="swatch tone-7" aria-hidden="true"></span>${answer.memory_unit === 'bytes' ? 'Memory' : 'Activations held'}</li>
    ${cap && html`<li><span class="swatch cap" aria-hidden="true"></span>What the device has</li>`}</ul>`;
}

function Cut({ answer, shown }) {
  if (!answer.truncated || answer.to >= shown.to) return null;
  return html`<p class="warn" role="status">Drawn up to ${plain(answer.to)}: there are ${plain(answer.operation_count)} operations, more than fit. A shorter view shows the others.</p>`;
}

const devicesColumns = (answer) => [
  { id: 'device', label: 'Device', unit: '', value: (d) => d.device },
  { id: 'stages', label: 'Stages', value: (d) => d.stages.join(', ') },
  { id: 'busy', label: 'Busy', unit: '', value: (d) => d.busy },
  { id: 'bubble', label: 'Bubble', unit: '', value: (d) => d.bubble },
  { id: 'share', label: 'Bubble of the whole', unit: 'share', value: (d) => (answer.makespan > 0 ? d.bubble / answer.makespan : null) },
  { id: 'peak', label: answer.memory_unit === 'bytes' ? 'Peak of memory' : 'Activations at the peak', unit: answer.memory_unit === 'bytes' ? 'bytes' : '', value: (d) => d.peak },
  ...(answer.memory_unit === 'bytes' ? [{ id: 'cap', label: 'It has', unit: 'bytes', value: (d) => d.cap }] : []),
];

const operationColumns = (device) => [
  { id: 'start', label: 'Start', unit: '', value: (o) => o.start },
  { id: 'length', label: 'Length', unit: '', value: (o) => o.length },
  { id: 'kind', label: 'Operation', value: (o) => KINDS[o.kind] ?? o.kind },
  { id: 'stage', label: 'Stage', value: (o) => (o.kind === 'pair' ? `${o.stage} and ${o.other_stage}` : String(o.stage)) },
  { id: 'micro_batch', label: 'Micro-batch', value: (o) => (o.kind === 'pair' ? `${o.micro_batch} and ${o.other_micro_batch}` : String(o.micro_batch)) },
  ...(device.works.slice ? [{ id: 'slice', label: 'Slice', unit: '', value: (o) => o.slice }] : []),
  ...(device.works.recompute ? [{ id: 'recompute', label: 'Recomputing', unit: '', value: (o) => o.recompute }] : []),
];

// The same as the picture, for who cannot see it.
function InNumbers({ answer }) {
  const [chosen, setChosen] = useState(0);
  const [open, setOpen] = useState(false);
  const device = answer.devices[chosen] ?? answer.devices[0];
  const rows = useMemo(() => (open ? device.operations.start.map((_, i) => operation(device, i)) : []), [device, open]);
  return html`<details><summary>The devices in numbers</summary><${Table} caption="Devices" columns=${devicesColumns(answer)} rows=${answer.devices} rowKey=${(d) => d.device} /></details>
    <details onToggle=${(e) => setOpen(e.currentTarget.open)}><summary>The operations of a device</summary>${open && html`<div class="tools"><label>Device <select value=${String(chosen)}
      onChange=${(e) => setChosen(Number(e.target.value))}>${answer.devices.map((d, i) => html`<option value=${String(i)}>${d.device}</option>`)}</select></label></div>
      <${Table} key=${device.device} caption=${`Operations of device ${device.device} in view`} columns=${operationColumns(device)} rows=${rows} />`}</details>`;
}

function Gantt({ path, devices }) {
  const box = useRef(null);
  const canvas = useRef(null);
  const { view, changer } = useView();
  const { width, scheme } = useSurroundings(box);
  const urlOf = (v) => `${path}?devices=${devices}${v ? `&${around(v)}` : ''}`;
  const { answer, whole, error, again } = useAnswer(urlOf, (a) => ({ from: 0, to: a.makespan, least: a.makespan * LEAST }), view, [path, devices], true);
  const change = changer(whole);
  const shown = view ?? whole;
  const full = answer && shown.to > shown.from;
  const label = () => `Schedule of ${many(answer.devices.length, 'device')} from ${plain(shown.from)} to ${plain(shown.to)}`;
  if (error?.code === 'no_schedule') return html`<${Empty}>This plan has no schedule that could be drawn.<//>`;
  return html`${error && html`<${ProblemBox} error=${error} again=${again} />`}
    ${!answer && !error && html`<${Loading} what="the schedule" />`}
    ${answer && !full && html`<${Empty}>Nothing in this schedule takes any time.<//>`}
    ${full && html`<div class="timeline-head"><${Legend} answer=${answer} /><${ZoomButtons} view=${view} change=${change} /></div><${Cut} answer=${answer} shown=${shown} />`}
    <div class="timeline gantt">
      <div class="timeline-names" aria-hidden="true">${full && answer.devices.map((d) => html`<span key=${d.device} style=${{ height: `${ROW}px` }}>Device ${d.device}</span>`)}</div>
      <div class="timeline-time" ref=${box}>${full && width > 0 && html`<${Axis} view=${shown} width=${width} unit="" />
        <${Picture} of=${answer} view=${shown} width=${width} scheme=${scheme} canvas=${canvas} change=${change} draw=${draw} hit=${hit}
          tell=${telling(answer)} height=${answer.devices.length * ROW} label=${label()} keys="gantt-keys" />`}</div></div>
    ${full && html`<${KeysHelp} id="gantt-keys" />`}
    ${answer && html`<${InNumbers} answer=${answer} />`}`;
}

export function ScheduleSection({ plan }) {
  const count = plan.problem.stages;
  const [first, setFirst] = useState(0);
  const ranges = [];
  for (let d = 0; d < count; d += SHOWN) ranges.push([d, Math.min(count, d + SHOWN) - 1]);
  const [from, to] = ranges[first] ?? [0, 0];
  const choose = ranges.length > 1 && html`<label>Devices <select value=${String(first)} onChange=${(e) => setFirst(Number(e.target.value))}>${ranges.map(([a, b], i) => html`<option
    value=${String(i)}>${a} to ${b}</option>`)}</select></label>`;
  return html`<${Section} id="schedule" title="Schedule" note="What each device runs when, and what it holds; the numbers are micro-batches." tools=${choose}>
    <${Gantt} key=${`${from}-${to}`} path=${planPath(plan.id, 'schedule')} devices=${`${from}-${to}`} /><//>`;
}
