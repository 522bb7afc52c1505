// One plan: what to do, what it will cost, what lost and why.
import { call, get, planPath } from './api.js';
import { html, useState } from './dom.js';
import { ExplanationSection, Stages } from './explanation.js';
import { ExportSection } from './export.js';
import { isNumber, memberName, quantity, sentence, told, when, words } from './format.js';
import { FrontierSection } from './frontier.js';
import { Confirm, Loading, ProblemBox, Quantity, Section, useLoaded } from './parts.js';
import { OtherPlan } from './plan_other.js';
import { Big, Quality } from './plan_parts.js';
import { PipelinePlan } from './plan_pipeline.js';
import { problemText } from './plans.js';
import { Degrees, degreesText } from './strategy.js';
import { Table } from './table.js';

// What a device holds: one of the request's own says it, one by its name is looked up.
function useMemory(problem) {
  const device = problem?.cluster?.device;
  const load = (signal) => (typeof device === 'string' ? get(`/v1/devices/${encodeURIComponent(device)}`, { signal }) : Promise.resolve(device));
  const bytes = useLoaded(load, [device]).data?.memory_bytes;
  return isNumber(bytes) ? bytes : null;
}

function Headline({ plan: { predicted: p, problem } }) {
  const memory = useMemory(problem);
  return html`<dl class="bigs">
    <${Big} name="Step time, predicted" value=${p.step_seconds} unit="seconds" />
    <${Big} name="MFU" value=${p.mfu} unit="share" />
    ${isNumber(p.hfu) && html`<${Big} name="HFU" value=${p.hfu} unit="share" />`}
    <${Big} name="Throughput" value=${p.tokens_per_second} unit="" note="tokens/s" />
    <${Big} name="Memory a device" value=${p.memory_bytes} unit="bytes" note=${memory && `of ${quantity(memory, 'bytes')}`} />
  </dl>`;
}

const unitOf = (key, fallback) => (key.endsWith('_bytes') ? 'bytes' : key.endsWith('_seconds') ? 'seconds' : fallback);

// A total split into its parts: a bar, and the same as a list.
function Split({ title, parts, unit, id }) {
  const all = Object.entries(parts ?? {}).filter(([, v]) => isNumber(v) && v > 0);
  const whole = all.reduce((sum, [, v]) => sum + v, 0);
  const entries = all.filter(([, v]) => v > whole * 1e-6); // the rest is rounding
  if (whole <= 0) return null;
  return html`<div class="split"><h3>${title}</h3><div class="bar" aria-hidden="true">${entries.map(([key, v], i) => html`<span key=${key}
      class=${`segment tone-${i % 8}`} data-part=${key} style=${{ width: `${(v / whole) * 100}%` }}></span>`)}</div>
    <ul class="split-list" aria-label=${title} id=${id}>${entries.map(([key, v], i) => html`<li key=${key}><span class=${`swatch tone-${i % 8}`} aria-hidden="true"></span>
      <span>${memberName(key)}</span><span class="right"><${Quantity} value=${v} unit=${unitOf(key, unit)} /></span>
      <span class="right quiet">${quantity(v / whole, 'share')}</span></li>`)}</ul></div>`;
}

function Solution({ plan: { solution: s, predicted: p, problem } }) {
  return html`<${Section} id="strategy" title="Strategy"><${Degrees} solution=${s} cluster=${problem?.cluster} /><${Stages} solution=${s} />
    <div class="splits"><${Split} id="time-split" title="Time of a step" parts=${p.breakdown} unit="seconds" />
      <${Split} id="memory-split" title="Memory of a device" parts=${p.memory} unit="bytes" /></div><//>`;
}

const ALTERNATIVES = [
  { id: 'strategy', label: 'Strategy', className: 'name', value: (a) => degreesText(a.solution), cell: (a) => html`<code>${degreesText(a.solution)}</code>` },
  { id: 'step', label: 'Step', unit: 'seconds', value: (a) => a.predicted?.step_seconds },
  { id: 'memory', label: 'Memory', unit: 'bytes', value: (a) => a.predicted?.memory_bytes },
  { id: 'loses', label: 'Loses by', unit: 'share', value: (a) => a.loses_by },
  { id: 'reason', label: 'Why', className: 'reason', value: (a) => told(a.reason) },
];

const REASONS = {
  memory: 'Does not fit in memory', slower: 'Its lower bound is too far behind the best', heads_division: 'Tensor degree does not divide the heads',
  width_division: 'Tensor degree does not divide the widths', interleaving: 'Micro-batches do not fill the interleaved pipeline',
  zero_with_pipeline: 'ZeRO 2 and 3 are tried in a pipeline only where the constraint ZeRO names them', host_memory: 'Does not fit in host memory',
  expert_division: 'Expert degrees do not divide the experts or the ranks', sequence_division: 'Context degree does not divide the sequence',
  attention_kernel: 'Context parallelism needs a fused attention kernel',
};
const reasonOf = (r) => REASONS[r.reason] ?? sentence(words(r.reason));

const example = (e) => (typeof e === 'string' ? e : e && typeof e === 'object' ? degreesText(e) || JSON.stringify(e) : null);
// how far the example is from being chosen
const missOf = (r) => (isNumber(r.over_bytes) ? `${quantity(r.over_bytes, 'bytes')} too much` : isNumber(r.at_least_seconds) ? `${quantity(r.at_least_seconds, 'seconds')} at least` : null);
const REJECTED = [
  { id: 'reason', label: 'Reason', className: 'reason', value: reasonOf },
  { id: 'count', label: 'Candidates', unit: '', value: (r) => r.count },
  { id: 'example', label: 'For example', className: 'reason', value: (r) => [example(r.example), missOf(r)].filter(Boolean).join(': ') },
];

function Losers({ plan }) {
  const { alternatives = [], rejected = [] } = plan;
  return html`<${Section} id="alternatives" title="Why not another" note="The runners-up, and what was ruled out.">
    <${Quality} quality=${plan.quality} />
    ${alternatives.length > 0 && html`<${Table} caption="Alternatives" columns=${ALTERNATIVES} rows=${alternatives} />`}
    ${rejected.length > 0 && html`<h3>Ruled out</h3><${Table} caption="Ruled out" columns=${REJECTED} rows=${rejected} sort=${{ id: 'count', down: true }} />`}<//>`;
}

// The kinds that have a view of their own.
const Strategy = ({ plan }) => html`<${Headline} plan=${plan} /><${Solution} plan=${plan} /><${ExplanationSection} explanation=${plan.explanation} /><${FrontierSection} plan=${plan} /><${Losers} plan=${plan} /><${ExportSection} id=${plan.id} />`;
// one given strategy: nothing was searched, so that there is nothing that lost
const Estimate = ({ plan }) => html`<${Headline} plan=${plan} /><${Solution} plan=${plan} /><${ExplanationSection} explanation=${plan.explanation} /><${ExportSection} id=${plan.id} />`;
const VIEWS = { strategy: Strategy, estimate: Estimate, schedule: PipelinePlan, pipeline: PipelinePlan };

function Content({ plan }) {
  const View = plan.solution && plan.predicted && VIEWS[plan.kind] || OtherPlan;
  return html`<p class="quiet">${plan.method && `Method: ${plan.method}. `}Made ${when(plan.created_at)}. Times and sizes are predictions.</p>
    ${plan.warnings?.length > 0 && html`<ul class="warnings-list">${plan.warnings.map((w) => html`<li>${told(typeof w === 'string' ? w : w.detail ?? JSON.stringify(w))}</li>`)}</ul>`}
    <${View} plan=${plan} />
    <details class="panel"><summary>The problem as it was asked</summary><pre tabindex="0">${JSON.stringify(plan.problem, null, 2)}</pre></details>`;
}

export function Plan({ id }) {
  const state = useLoaded((signal) => get(planPath(id), { signal }), [id]);
  const [failed, setFailed] = useState(null);
  const plan = state.data;
  const remove = () => call('DELETE', planPath(id)).then(() => (location.hash = '#/plans'), setFailed);
  // one heading for all states: it has the focus after a change of view, and must not be replaced
  return html`<header class="view-head"><h1 tabindex="-1" class="name">${(plan && problemText(plan.problem)) || (plan ? `Plan: ${plan.kind}` : 'Plan')}</h1>
      ${plan && html`<span class="state">${plan.kind}</span><${Confirm} label="Delete" question="Delete this plan for good?" action=${remove} />`}</header>
    ${(state.error ?? failed) && html`<${ProblemBox} error=${state.error ?? failed} again=${state.error && state.again} />`}
    ${plan ? html`<${Content} plan=${plan} />` : !state.error && html`<${Loading} what="the plan" />`}`;
}
