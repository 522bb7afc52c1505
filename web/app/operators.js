// What ran, summed by type or by name.
import { getOnce, profilePath } from './api.js';
import { html, useMemo, useState } from './dom.js';
import { many } from './format.js';
import { Empty, Loaded, Meter, Quantity, Section, useLoaded } from './parts.js';
import { Table } from './table.js';

const LIMIT = 1000;
// the orders that the service knows: with more rows than the limit, it must sort
const SORTS = { name: 'name', count: 'count', total_us: 'total', mean_us: 'mean', max_us: 'max' };

const us = (id, label) => ({ id, label, unit: 'us', value: (r) => r[id] });
const NAME = { id: 'name', label: 'Operator', className: 'name', value: (r) => r.name };
const TYPE = { id: 'type', label: 'Type', className: 'name', value: (r) => r.type };
const REST = [
  us('total_us', 'Total'),
  { id: 'share', label: 'Share', unit: 'share', value: (r) => r.share, title: 'of the time of its class: compute, communication, copy or host',
    cell: (r) => html`<span class="share-cell"><${Meter} share=${r.share} /><${Quantity} value=${r.share} unit="share" /></span>` },
  { id: 'count', label: 'Count', unit: '', value: (r) => r.count },
  us('mean_us', 'Mean'), us('min_us', 'Min'), us('max_us', 'Max'),
  { id: 'class', label: 'Class', value: (r) => r.class, title: 'what its share is of' },
  { id: 'unit', label: 'Unit', value: (r) => r.unit, title: 'the core it ran on' },
];
const columnsOf = (by) => (by === 'type' ? [{ ...NAME, label: 'Type' }, ...REST] : [NAME, TYPE, ...REST]);

function Tools({ by, setBy, rank, setRank, ranks, filter, setFilter }) {
  return html`<div class="tools">
    <fieldset class="switch"><legend class="hidden">Group the operators</legend>${['type', 'name'].map((x) => html`<label><input type="radio"
      name="operators-by" value=${x} checked=${by === x} onChange=${() => setBy(x)} /><span>By ${x}</span></label>`)}</fieldset>
    ${ranks.length > 1 && html`<label>Rank <select value=${rank} onChange=${(e) => setRank(e.target.value)}>
      <option value="">all</option>${ranks.map((r) => html`<option value=${String(r)}>${r}</option>`)}</select></label>`}
    <label>Find <input type="search" value=${filter} onInput=${(e) => setFilter(e.target.value)} placeholder="name, class or unit" /></label></div>`;
}

export function OperatorsSection({ profile }) {
  const [by, setBy] = useState('type');
  const [rank, setRank] = useState('');
  const [sort, setSort] = useState('total');
  const [filter, setFilter] = useState('');
  const query = `by=${by}&sort=${sort}&limit=${LIMIT}${rank ? `&rank=${rank}` : ''}`;
  const state = useLoaded(() => getOnce(profilePath(profile.id, `operators?${query}`)), [profile.id, query]);
  const rows = state.data?.rows ?? [];
  const found = useMemo(() => {
    const text = filter.trim().toLowerCase();
    if (!text) return rows;
    return rows.filter((r) => [r.name, r.type, r.class, r.unit].some((s) => s?.toLowerCase().includes(text)));
  }, [rows, filter]);
  const resort = (next) => rows.length >= LIMIT && SORTS[next.id] && setSort(SORTS[next.id]);
  return html`<${Section} id="operators" title="Operators" note="Times are summed over ranks and steps.">
    <${Tools} ...${{ by, setBy, rank, setRank, filter, setFilter }} ranks=${profile.ranks ?? []} />
    <${Loaded} state=${state} what="the operators">${() => (rows.length === 0
      ? html`<${Empty}>This capture names no operators.<//>`
      : html`<${Table} key=${by} caption="Operators" columns=${columnsOf(by)} rows=${found} sort=${{ id: 'total_us', down: true }} onSort=${resort} />
        ${found.length === 0 && html`<${Empty}>Nothing matches.<//>`}
        ${rows.length >= LIMIT && html`<p class="quiet">The first ${many(LIMIT, 'row')} of this order.</p>`}`)}<//><//>`;
}
