// The verdict, the findings with their evidence and advice, and what could not be judged.
import { html, useState } from './dom.js';
import { isNumber, many, plain, quantity, ranges, sentence, words } from './format.js';
import { COMPONENTS, ORIGINS, causeOf, checkName, knownCause, verdictCode } from './labels.js';
import { Empty, Loaded, Meter, ProblemBox, Quantity, Section } from './parts.js';

const FEW = 4; // ranks shown of a finding before the rest is asked for

export function VerdictPanel({ state }) {
  return html`<${Loaded} state=${state} what="the verdict">${({ verdict, findings, tree }) => {
    const code = verdictCode(verdict);
    const worst = findings.find((f) => f.code === code)?.severity ?? 'warning';
    const sure = verdict.confidence === 'high';
    return html`<section class=${`panel verdict ${code ? worst : sure ? 'ok' : 'info'}`} aria-label="Verdict">
      <p class="verdict-text">${code ? causeOf(code) : sure ? 'No bottleneck found' : 'No bottleneck found in what could be judged'}${code && isNumber(verdict.share_of_step)
        && html`: <strong>${quantity(verdict.share_of_step, 'share')}</strong> of the step`}.</p>
      <p class="quiet">${code && COMPONENTS[verdict.component] && html`${COMPONENTS[verdict.component]} · `}${verdict.confidence
        && `${sentence(verdict.confidence)} confidence`}${!code && '. Nothing passed its threshold; what is below is for information.'}</p>
      ${tree?.children?.length > 0 && html`<${Tree} root=${tree} />`}
    </section>`;
  }}<//>`;
}

function TreeRow({ node, depth }) {
  return html`<li><span class="tree-label" style=${{ paddingInlineStart: `${depth * 1.1}rem` }}>${knownCause(node.id) ? causeOf(node.id) : node.label}</span>
    <${Meter} share=${node.share} /><span class="right"><${Quantity} value=${node.share} unit="share" /></span>
    <span class="right quiet"><${Quantity} value=${node.time_us} unit="us" /></span></li>
    ${(node.children ?? []).map((child) => html`<${TreeRow} key=${child.id} node=${child} depth=${depth + 1} />`)}`;
}
const Tree = ({ root }) => html`<details class="tree"><summary>Where the step goes, by component and cause</summary>
  <ul><${TreeRow} node=${root} depth=${0} /></ul></details>`;

// How many ranks a finding holds for stands above its table.
const AFFECTED = 'ranks_affected';
const affected = (f) => f.evidence.find((e) => e.metric === AFFECTED)?.value;
const shownOf = (f) => ({ ...f, evidence: f.evidence.filter((e) => e.metric !== AFFECTED) });

const scope = (f) => [isNumber(f.rank) && `rank ${f.rank}`, isNumber(f.step) && `step ${f.step}`].filter(Boolean).join(', ');

const metricName = (e) => sentence(words(e.metric.replace(/_(us|bytes)$/, '')));

function Limit({ evidence: e }) {
  if (!isNumber(e.threshold)) return html`<span class="missing" title="measured, not judged">–</span>`;
  return html`<span class="number">${quantity(e.threshold, e.unit)}</span> <span class="quiet">(${ORIGINS[e.origin] ?? e.origin})</span>`;
}

// One place: a line for each number. Several places: a line for each place, when they were judged alike.
function OnePlace({ finding: f }) {
  return html`<thead><tr><th scope="col">Evidence</th><th scope="col" class="right">Value</th><th scope="col">Threshold</th></tr></thead>
    <tbody>${f.evidence.map((e) => html`<tr><td>${metricName(e)}</td><td class="right"><${Quantity} value=${e.value} unit=${e.unit} /></td>
      <td><${Limit} evidence=${e} /></td></tr>`)}</tbody>`;
}

function ManyPlaces({ findings }) {
  return html`<thead><tr><th scope="col">Where</th><th scope="col" class="right">Of the step</th>${findings[0].evidence.map((e) => html`<th scope="col" class="right">${metricName(e)}</th>`)}</tr></thead>
    <tbody>${findings.map((f) => html`<tr><td class="where">${scope(f) || 'all'}</td><td class="right"><${Quantity} value=${f.share_of_step} unit="share" /></td>
      ${f.evidence.map((e) => html`<td class="right"><${Quantity} value=${e.value} unit=${e.unit} /></td>`)}</tr>`)}
    <tr class="limits"><td>Threshold</td><td></td>${findings[0].evidence.map((e) => html`<td class="right"><${Limit} evidence=${e} /></td>`)}</tr></tbody>`;
}

const judged = (f) => f.evidence.map((e) => `${e.metric} ${e.unit} ${e.threshold} ${e.origin}`).join();

function EvidenceTable({ findings, title }) {
  if (findings.every((f) => f.evidence.length === 0)) return null;
  const alike = findings.every((f) => judged(f) === judged(findings[0]));
  const box = (key, label, content) => html`<div key=${key} class="scroll" tabindex="0" role="region" aria-label=${`Evidence: ${label}`}><table
    class="evidence">${content}</table></div>`;
  if (findings.length > 1 && alike) return box('many', title, html`<${ManyPlaces} findings=${findings} />`);
  return findings.map((f, i) => html`${findings.length > 1 && html`<p class="quiet">${scope(f) || 'all'}</p>`}${box(i, `${title} ${scope(f)}`,
    html`<${OnePlace} finding=${f} />`)}`);
}

function Operators({ findings }) {
  const seen = new Map();
  for (const o of findings.flatMap((f) => f.operators ?? []))
    if (!seen.has(o.name)) seen.set(o.name, o);
  if (seen.size === 0) return null;
  return html`<p class="operators"><span class="quiet">Operators: </span>${[...seen.values()].slice(0, 10).map((o, i) => html`${i > 0 && ', '}<code
    class="name">${o.name}</code>${isNumber(o.contribution_us) && html` <${Quantity} value=${o.contribution_us} unit="us" />`}`)}</p>`;
}

function Gain({ finding: f }) {
  const gain = f.estimated_gain ?? {};
  if (!isNumber(gain.step_us) && !isNumber(gain.speedup)) return html`<p class="quiet">No estimate of the gain.</p>`;
  return html`<p>Removing it would save an estimated ${isNumber(gain.step_us) && html`<${Quantity} value=${gain.step_us} unit="us" /> a step`}${isNumber(gain.speedup)
    && html` (<span class="number">${plain(gain.speedup, gain.speedup < 1.1 ? 3 : 2)}×</span> faster)`}.${gain.method && html` <span class="quiet">Method: ${gain.method}.</span>`}</p>`;
}

// What is only for information keeps its remedies folded away.
function Advice({ advice: a, folded }) {
  if (folded) return html`<details><summary>What could be done</summary><${Advice} advice=${a} /></details>`;
  return html`<div class="advice"><h4>${a.title}</h4><ol>${a.actions.map((x) => html`<li>${x.summary}${x.settings.map((s) =>
    html`<div class="how">${s.software && html`<span class="quiet">${s.software}: </span>`}<code>${s.how}</code></div>`)}</li>`)}</ol>
    <p><span class="quiet">Afterwards check:</span> ${a.check}</p><p><span class="quiet">What it costs:</span> ${a.cost}</p>
    <p class="quiet">Source: ${a.source}</p></div>`;
}

const Severity = ({ of }) => html`<span class=${`severity ${of}`}>${of}</span>`;

// Findings of one code on several ranks are one card.
function Finding({ group, advice }) {
  const [all, setAll] = useState(false);
  const first = group[0];
  const shown = (all ? group : group.slice(0, FEW)).map(shownOf);
  const ranks = [...new Set(group.map((f) => f.rank).filter(isNumber))].sort((a, b) => a - b);
  return html`<article class=${`finding ${first.severity}`} aria-label=${causeOf(first.code)}>
    <header><h3>${causeOf(first.code)}</h3><${Severity} of=${first.severity} />
      ${isNumber(first.share_of_step) && html`<span class="share"><${Meter} share=${first.share_of_step} /><${Quantity}
        value=${first.share_of_step} unit="share" /> <span class="quiet">of the step</span></span>`}</header>
    <p class="about quiet">${[group.length === 1 ? scope(first) : ranks.length > 0 && `ranks ${ranges(ranks)}`,
      affected(first) > ranks.length && `${many(affected(first), 'rank')} affected`, `${first.confidence} confidence`]
      .filter(Boolean).join(' · ')} · <code>${first.code}</code></p>
    <${EvidenceTable} findings=${shown} title=${causeOf(first.code)} />
    ${group.length > shown.length && html`<p class="more"><button type="button" onClick=${() => setAll(true)}>Show all ${group.length} places</button></p>`}
    <${Operators} findings=${shown} />
    <${Gain} finding=${first} />
    ${advice && html`<${Advice} advice=${advice} folded=${first.severity === 'info'} />`}
  </article>`;
}

function grouped(findings) {
  const groups = new Map();
  for (const f of findings) groups.set(f.code, [...(groups.get(f.code) ?? []), f]);
  return [...groups.values()];
}

export function FindingsSection({ analysis, advice }) {
  const remedies = new Map((advice.data?.items ?? []).map((a) => [a.finding, a]));
  return html`<${Section} id="findings" title="Findings" note="Worst first. Gains are estimates.">
    ${advice.error && html`<${ProblemBox} error=${advice.error} again=${advice.again} />`}
    <${Loaded} state=${analysis} what="the findings">${({ findings }) => (findings.length === 0
      ? html`<${Empty}>No finding. Every check that this capture allows was passed.<//>`
      : grouped(findings).map((g) => html`<${Finding} key=${g[0].code} group=${g} advice=${remedies.get(g[0].code)} />`))}<//><//>`;
}

export function NotEvaluated({ state }) {
  const open = state.data?.not_evaluated ?? [];
  return html`<${Section} id="open" title="Not evaluated" note=${state.data && `${many(open.length, 'check')} could not be made on this capture.`}>
    ${open.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Checks not made"><table class="open">
      <thead><tr><th scope="col">Check</th><th scope="col">What it needs</th></tr></thead>
      <tbody>${open.map((n) => html`<tr><td>${checkName(n.code)} <code class="quiet">${n.code}</code></td><td>${n.needs}</td></tr>`)}</tbody>
    </table></div>`}<//>`;
}
