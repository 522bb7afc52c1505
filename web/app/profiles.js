// The list of profiles, each with its state and verdict.
import { get, running } from './api.js';
import { html, useEffect, useState } from './dom.js';
import { many, quantity, ranges, when } from './format.js';
import { FORMATS, STATES, causeOf, verdictCode } from './labels.js';
import { Empty, Loaded, useLoaded } from './parts.js';
import { DropZone, useUploads } from './upload_view.js';

function Verdict({ verdict }) {
  if (!verdict) return html`<span class="quiet">no verdict</span>`;
  const code = verdictCode(verdict);
  if (!code) return html`<span class="ok">No bottleneck found</span>${verdict.confidence !== 'high' && html` <span class="quiet">(${verdict.confidence} confidence)</span>`}`;
  return html`<span class=${`verdict-line ${verdict.severity ?? 'warning'}`}>${causeOf(code)}${verdict.share_of_step !== null
    && html`: <span class="number">${quantity(verdict.share_of_step, 'share')}</span><span class="quiet"> of the step</span>`}</span>`;
}

function Outcome({ profile: p }) {
  if (p.state === 'ready') return html`<${Verdict} verdict=${p.verdict} />`;
  if (p.state === 'failed') return html`<span class="failed">${p.error?.detail ?? 'It could not be read.'}</span>`;
  return html`<span class="quiet">${STATES[p.state] ?? p.state}…</span>`;
}

const facts = (p) => [
  FORMATS[p.format] ?? p.format,
  p.ranks?.length > 0 && (p.ranks.length === 1 ? `rank ${p.ranks[0]}` : `ranks ${ranges(p.ranks)}`),
  p.steps?.length > 0 && many(p.steps.length, 'step'),
  quantity(p.bytes, 'bytes'),
].filter(Boolean).join(' · ');

const Row = ({ profile: p }) => html`<li class="row">
  <p class="row-head"><a class="name" href=${`#/profiles/${encodeURIComponent(p.id)}`}>${p.name}</a>
    <span class=${`state ${p.state}`}>${STATES[p.state] ?? p.state}</span></p>
  <p class="row-verdict"><${Outcome} profile=${p} /></p>
  <p class="quiet row-facts">${facts(p)} · <time datetime=${p.created_at}>${when(p.created_at)}</time></p>
</li>`;

// Pages of the list, followed while one of its profiles is still being read.
function useProfiles(settled) {
  const [pages, setPages] = useState(1);
  const [tick, setTick] = useState(0);
  const state = useLoaded(async (signal) => {
    const items = [];
    let cursor = null;
    for (let page = 0; page < pages; page++) {
      const answer = await get(`/v1/profiles?limit=50${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`, { signal });
      items.push(...answer.items);
      cursor = answer.next_cursor;
      if (!cursor) break;
    }
    return { items, more: Boolean(cursor) };
  }, [pages, tick, settled]);
  const open = state.data?.items.some((p) => running(p.state));
  useEffect(() => {
    if (!open || state.loading) return undefined;
    const timer = setTimeout(() => !document.hidden && setTick((n) => n + 1), 2000);
    return () => clearTimeout(timer);
  }, [open, state.loading]);
  return { state, more: () => setPages((n) => n + 1) };
}

export function Profiles() {
  // one more fetch whenever an upload reaches the service or ends
  const settled = useUploads().filter((u) => u.profile).map((u) => `${u.profile}:${u.stage}`).join();
  const { state, more } = useProfiles(settled);
  return html`<h1 tabindex="-1">Profiles</h1>
    <p class="quiet">Give Signalbox the profile of a training job: it tells where each step's time goes, why, and what to do about it.</p>
    <${DropZone} />
    <${Loaded} state=${state} what="the profiles">${(data) => html`
      ${data.items.length === 0 && html`<${Empty}>No profile yet. Drop one here, or send one with <code>signalbox push</code>.<//>`}
      <ul class="rows" aria-label="Profiles">${data.items.map((p) => html`<${Row} key=${p.id} profile=${p} />`)}</ul>
      ${data.more && html`<p class="more"><button type="button" onClick=${more}>Show older</button></p>`}`}<//>`;
}
