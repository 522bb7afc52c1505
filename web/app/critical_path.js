// The chain of work that set the length of a capture: of one rank, or across all of them.
import { getOnce, profilePath } from './api.js';
import { Bar, Legend } from './bars.js';
import { html, useState } from './dom.js';
import { isNumber, many } from './format.js';
import { PATH_PARTS } from './labels.js';
import { Empty, Loaded, Section, useLoaded } from './parts.js';
import { Table } from './table.js';

const COLUMNS = [
  { id: 'name', label: 'On the path', className: 'name', value: (o) => o.name },
  { id: 'category', label: 'Part', value: (o) => o.category },
  { id: 'count', label: 'Count', unit: '', value: (o) => o.count },
  { id: 'total_us', label: 'Total', unit: 'us', value: (o) => o.total_us },
];

function Path({ path }) {
  if (!isNumber(path.span_us)) return html`<${Empty}>This capture has no work on a device.<//>`;
  const name = path.across_ranks ? 'Across ranks' : isNumber(path.rank) ? `Rank ${path.rank}` : 'Rank –';
  return html`<${Legend} parts=${PATH_PARTS} rows=${[path]} />
    <ul class="bars" aria-label="Parts of the critical path"><${Bar} parts=${PATH_PARTS} row=${path} name=${name} widest=${Math.max(1e-9, path.span_us)} /></ul>
    <p class="quiet">${many(path.events.length + path.left_out, 'piece')} from ${many(path.works, 'piece')} of work on the device.</p>
    <${Table} caption="What the critical path is made of" columns=${COLUMNS} rows=${path.operators} sort=${{ id: 'total_us', down: true }} />`;
}

export function CriticalPathSection({ profile }) {
  const [rank, setRank] = useState('');
  const ranks = profile.ranks ?? [];
  const query = `critical-path?limit=1${rank === '' ? '' : `&rank=${rank}`}`;
  const state = useLoaded(() => getOnce(profilePath(profile.id, query)), [profile.id, query]);
  return html`<${Section} id="critical-path" title="Critical path" note="The chain of work that set the length of the capture.">
    ${ranks.length > 1 && html`<div class="tools"><label>Rank <select value=${rank} onChange=${(e) => setRank(e.target.value)}>
      <option value="">across all</option>${ranks.map((r) => html`<option value=${String(r)}>${r}</option>`)}</select></label></div>`}
    <${Loaded} state=${state} what="the critical path">${(path) => html`<${Path} path=${path} />`}<//><//>`;
}
