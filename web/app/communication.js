// Collectives by rank, and the sets of ranks that wait for each other.
import { getOnce, profilePath } from './api.js';
import { html, useState } from './dom.js';
import { isNumber, many, quantity, ranges } from './format.js';
import { Empty, Loaded, Quantity, Section, useLoaded } from './parts.js';
import { Table } from './table.js';

const us = (id, label, title) => ({ id, label, title, unit: 'us', value: (r) => r[id] });

// All links of an operator together, over the time that it transmits.
const Links = ({ row }) => (row.links?.length > 0
  ? html`<span class="links">${row.links.map((l) => html`<span>${l.link} <${Quantity} value=${l.bytes_per_second} unit="bytes_per_second" /></span>`)}</span>`
  : html`<span class="missing" title="not in this capture">–</span>`);

function columnsOf(open, setOpen) {
  return [
    { id: 'name', label: 'Operator', className: 'name', value: (r) => r.name },
    { id: 'rank', label: 'Rank', value: (r) => r.rank }, { id: 'step', label: 'Step', value: (r) => r.step },
    { id: 'count', label: 'Count', unit: '', value: (r) => r.count },
    { id: 'bytes', label: 'Size', unit: 'bytes', value: (r) => r.bytes },
    us('elapse_us', 'Elapse', 'start to end on this rank'), us('transit_us', 'Transit', 'data on the wire'),
    us('wait_us', 'Wait', 'for the other ranks'),
    { id: 'links', label: 'Bandwidth by link', fixed: true, value: () => null, cell: (r) => html`<${Links} row=${r} />` },
    { id: 'packets', label: 'Packets', fixed: true, value: () => null,
      cell: (r) => (r.links?.some((l) => l.packets?.length > 0)
        ? html`<button type="button" aria-expanded=${open === r ? 'true' : 'false'} onClick=${() => setOpen(open === r ? null : r)}>${open === r ? 'Hide' : 'Show'}</button>`
        : html`<span class="missing" title="not in this capture">–</span>`) },
  ];
}

const PACKETS = [
  { id: 'link', label: 'Link', value: (p) => p.link },
  { id: 'bytes', label: 'Packet size', unit: 'bytes', value: (p) => p.bytes },
  { id: 'count', label: 'Count', unit: '', value: (p) => p.count },
  us('total_us', 'Total'),
  { id: 'rate', label: 'Bandwidth', unit: 'bytes_per_second', value: (p) => (p.total_us > 0 ? (p.bytes * p.count) / (p.total_us / 1e6) : null) },
];

function Packets({ row }) {
  const packets = row.links.flatMap((l) => (l.packets ?? []).map((p) => ({ ...p, link: l.link })));
  return html`<h3>Packets of ${row.name}, rank ${row.rank ?? '–'}</h3><${Table} caption=${`Packets of ${row.name}`} columns=${PACKETS} rows=${packets} />`;
}

function Domains({ domains }) {
  return html`<ul class="domains" aria-label="Groups of ranks">${domains.map((d) => html`<li>
    <span>${d.parallelism && html`<strong>${d.parallelism}</strong> `}Ranks ${ranges(d.ranks)}${d.group && html` <code class="quiet">${d.group}</code>`}</span>
    <span><abbr title="waiting share: 1 - mean / max of the ranks' transmission times">R_wait</abbr> <${Quantity} value=${d.r_wait} unit="share" /></span>
    <span>${isNumber(d.slow_rank) ? html`<strong class="warn">slow rank: ${d.slow_rank}</strong>`
      : isNumber(d.r_wait) ? 'no rank stands out' : html`<span class="quiet">not judged</span>`}</span></li>`)}</ul>`;
}

function Communication({ data }) {
  const [open, setOpen] = useState(null);
  const { operators = [], domains = [] } = data;
  if (operators.length === 0) return html`<${Empty}>No communication in this capture.<//>`;
  const bytes = operators.reduce((sum, o) => sum + (o.bytes ?? 0), 0);
  return html`<p class="quiet">${many(operators.length, 'row')}${bytes > 0 && `, ${quantity(bytes, 'bytes')} over all ranks`}.</p>
    ${domains.length > 0 && html`<${Domains} domains=${domains} />`}
    <${Table} caption="Communication" columns=${columnsOf(open, setOpen)} rows=${operators} sort=${{ id: 'elapse_us', down: true }} />
    ${open && html`<${Packets} row=${open} />`}`;
}

export function CommunicationSection({ id }) {
  const state = useLoaded(() => getOnce(profilePath(id, 'communication')), [id]);
  return html`<${Section} id="communication" title="Communication" note="By operator and rank.">
    <${Loaded} state=${state} what="the communication">${(data) => html`<${Communication} data=${data} />`}<//><//>`;
}
