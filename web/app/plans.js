// Recent plans.
import { get } from './api.js';
import { html, useState } from './dom.js';
import { isNumber, many, when } from './format.js';
import { Empty, Loaded, Quantity, useLoaded } from './parts.js';
import { degreesText } from './strategy.js';

export function nameOf(x, fallback) {
  if (typeof x === 'string') return x;
  const name = x?.preset ?? x?.name;
  return typeof name !== 'string' ? fallback : isNumber(x.nodes) ? `${name} × ${x.nodes}` : name;
}

export function problemText(problem) {
  if (!problem) return null;
  const parts = [];
  if (problem.model) parts.push(nameOf(problem.model, 'own model'));
  if (problem.cluster) parts.push(`on ${nameOf(problem.cluster, 'own cluster')}`);
  if (isNumber(problem.stages)) parts.push(`${typeof problem.schedule === 'string' ? `${problem.schedule} on ` : ''}${many(problem.stages, 'stage')}`);
  if (isNumber(problem.micro_batches)) parts.push(`· ${many(problem.micro_batches, 'micro-batch', 'micro-batches')}`);
  if (isNumber(problem.batch?.global_sequences)) parts.push(`· ${problem.batch.global_sequences.toLocaleString('en-US')} sequences a step`);
  return parts.join(' ').replace(/^(·|on) /, '');
}

function Row({ plan: p }) {
  const d = p.predicted ?? {};
  return html`<li class="row"><p class="row-head"><a class="name" href=${`#/plans/${encodeURIComponent(p.id)}`}>${problemText(p.problem) || p.kind}</a>
      <span class="state">${p.kind}</span></p>
    ${p.solution?.dp !== undefined && html`<p><code>${degreesText(p.solution)}</code></p>`}
    <p class="quiet row-facts">${isNumber(d.step_seconds) && html`<${Quantity} value=${d.step_seconds} unit="seconds" /> a step · `}${isNumber(d.makespan) && html`makespan <${Quantity} value=${d.makespan} unit="" /> · `}${isNumber(d.mfu)
      && html`MFU <${Quantity} value=${d.mfu} unit="share" /> · `}<time datetime=${p.created_at}>${when(p.created_at)}</time></p></li>`;
}

export function Plans() {
  const [pages, setPages] = useState(1);
  const state = useLoaded(async (signal) => {
    const items = [];
    let cursor = null;
    for (let page = 0; page < pages; page++) {
      const answer = await get(`/v1/plans?limit=50${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`, { signal });
      items.push(...answer.items);
      cursor = answer.next_cursor;
      if (!cursor) break;
    }
    return { items, more: Boolean(cursor) };
  }, [pages]);
  return html`<header class="view-head"><h1 tabindex="-1">Plans</h1><a class="button primary" href="#/plans/new">New plan</a></header>
    <${Loaded} state=${state} what="the plans">${(data) => html`
      ${data.items.length === 0 && html`<${Empty}>No plan yet. A plan says how to split a model over a cluster, and how long a step will take.<//>`}
      <ul class="rows" aria-label="Plans">${data.items.map((p) => html`<${Row} key=${p.id} plan=${p} />`)}</ul>
      ${data.more && html`<p class="more"><button type="button" onClick=${() => setPages(pages + 1)}>Show older</button></p>`}`}<//>`;
}
