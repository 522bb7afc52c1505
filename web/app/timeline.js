// What ran when, on one rank: a picture that zooms and moves, drawn from what the service has of the view.
import { profilePath } from './api.js';
import { html, useMemo, useRef, useState } from './dom.js';
import { exact, many, quantity, words } from './format.js';
import { Empty, Loading, ProblemBox, Section } from './parts.js';
import { Table } from './table.js';
import { Axis, KeysHelp, Picture, ZoomButtons, useAnswer, useSurroundings, useView } from './time_view.js';
import { GROUPS, ROW, busyOf, draw, groupOf, hit } from './timeline_draw.js';

const NARROWEST_US = 0.05;

// The captures to choose from: by rank, else by path.
export const choicesOf = (profile) => [
  ...(profile.ranks ?? []).map((rank) => ({ label: String(rank), query: `rank=${rank}` })),
  ...(profile.unranked ?? []).map((source) => ({ label: `unknown: ${source}`, query: `source=${encodeURIComponent(source)}` })),
];

const tell = ({ lane, event, bin, from, to }) => (event
  ? html`<strong class="name">${event[2].length > 300 ? `${event[2].slice(0, 300)}…` : event[2]}</strong>
    <span>${groupOf(event[3]).label} (${words(event[3])})</span><span>starts at ${exact(event[0], 'us')}</span><span>lasts ${exact(event[1], 'us')}</span>`
  : html`<strong>${lane.name}</strong><span>${many(bin[3], 'event')} ${bin[3] === 1 ? 'starts' : 'start'} here</span>
    <span>${quantity(bin[1], 'share')} busy, most of it ${words(bin[2])}</span><span>${exact(from, 'us')} to ${exact(to, 'us')}</span>`);

const COLUMNS = [
  { id: 'name', label: 'Lane', className: 'name', value: (l) => l.name }, { id: 'kind', label: 'Kind', value: (l) => l.kind },
  { id: 'device', label: 'Device', value: (l) => l.device },
  { id: 'count', label: 'Events', unit: '', value: (l) => l.count, title: 'that start in view' },
  { id: 'busy', label: 'Busy', unit: 'share', value: (l) => l.busy, title: 'share of the view that its events cover' },
];

function LeftOut({ of }) {
  if (of.lanes === 0) return null;
  return html`<p class="warn" role="status">Not shown: ${many(of.lanes, 'lane')} with ${many(of.events, 'event')} in view. Devices come
    first, then the lanes with the most events; a shorter view shows others.</p>`;
}

function Legend({ lanes }) {
  const there = useMemo(() => new Set(lanes.flatMap((l) => (l.events ? l.events.map((e) => groupOf(e[3])) : l.bins.map((b) => groupOf(b[2]))))), [lanes]);
  return html`<ul class="legend" aria-label="Kinds of events">${GROUPS.filter((g) => there.has(g)).map((g) => html`<li key=${g.id}><span
    class="swatch" style=${{ background: `var(${g.colour})` }} aria-hidden="true"></span>${g.label}</li>`)}</ul>`;
}

function Timeline({ path, query }) {
  const box = useRef(null);
  const canvas = useRef(null);
  const { view, changer } = useView();
  const { width, scheme } = useSurroundings(box);
  const urlOf = (v) => `${path}?px=${width}${query && `&${query}`}${v ? `&from_us=${v.from.toFixed(3)}&to_us=${v.to.toFixed(3)}` : ''}`;
  const { answer, whole, error, again } = useAnswer(urlOf, (a) => ({ from: a.from_us, to: a.to_us, least: NARROWEST_US }), view, [path, query, width], width > 0);
  const change = changer(whole);
  const shown = view ?? whole;
  const rows = useMemo(() => answer?.lanes.map((l) => ({ ...l, busy: busyOf(l, answer) })), [answer]); // a drag draws many times
  const full = answer && answer.lanes.length > 0 && shown.to > shown.from;
  const label = () => `Timeline of ${many(answer.lanes.length, 'lane')} from ${quantity(shown.from, 'us')} to ${quantity(shown.to, 'us')}`;
  return html`${error && html`<${ProblemBox} error=${error} again=${again} />`}
    ${!answer && !error && html`<${Loading} what="the timeline" />`}
    ${answer && !full && html`<${Empty}>This capture has no events to show.<//>`}
    ${full && html`<div class="timeline-head"><${Legend} lanes=${answer.lanes} /><${ZoomButtons} view=${view} change=${change} /></div>
      <${LeftOut} of=${answer.left_out} />`}
    <div class="timeline">
      <div class="timeline-names" aria-hidden="true">${full && answer.lanes.map((l) => html`<span key=${l.id} title=${l.name}>${l.name}</span>`)}</div>
      <div class="timeline-time" ref=${box}>${full && html`<${Axis} view=${shown} width=${width} unit="us" />
        <${Picture} of=${answer} view=${shown} width=${width} scheme=${scheme} canvas=${canvas} change=${change} draw=${draw} hit=${hit}
          tell=${tell} height=${answer.lanes.length * ROW} label=${label()} keys="timeline-keys" />`}</div></div>
    ${full && html`<${KeysHelp} id="timeline-keys" />
      <details><summary>The lanes in numbers</summary><${Table} caption="Lanes in view" columns=${COLUMNS} rows=${rows} rowKey=${(l) => l.id} /></details>`}`;
}

export function TimelineSection({ profile }) {
  const choices = useMemo(() => choicesOf(profile), [profile]);
  const [chosen, setChosen] = useState(0);
  const several = choices.length > 1;
  const query = several ? choices[chosen].query : '';
  return html`<${Section} id="timeline" title="Timeline" note="What ran when, on one rank." tools=${several && html`<label>Rank
      <select value=${String(chosen)} onChange=${(e) => setChosen(Number(e.target.value))}>${choices.map((c, i) => html`<option
        value=${String(i)}>${c.label}</option>`)}</select></label>`}>
    <${Timeline} key=${query} path=${profilePath(profile.id, 'timeline')} query=${query} /><//>`;
}
