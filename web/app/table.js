// A table that sorts by its headers. One unit a column, named in the header.
import { html, useMemo, useState } from './dom.js';
import { MISSING, exact, isNumber, many, scaleOf, scaled } from './format.js';

const PAGE = 20;

// Missing values come last whichever way the column is sorted; equal ones keep their order.
function compare(column, down) {
  return (a, b) => {
    const x = column.value(a);
    const y = column.value(b);
    const noX = x === null || x === undefined;
    const noY = y === null || y === undefined;
    if (noX || noY) return noX - noY;
    const order = isNumber(x) && isNumber(y) ? x - y : String(x).localeCompare(String(y), 'en', { numeric: true });
    return down ? -order : order;
  };
}

function Head({ column, scale, sort, onSort }) {
  const active = sort?.id === column.id;
  const text = scale?.label && !column.cell ? `${column.label} (${scale.label})` : column.label;
  const state = active ? (sort.down ? 'descending' : 'ascending') : undefined;
  return html`<th scope="col" class=${column.unit !== undefined ? 'right' : ''} aria-sort=${state} title=${column.title}>
    ${column.fixed ? text : html`<button type="button" class="sort" onClick=${() => onSort(column)}>${text}<span
      aria-hidden="true" class="arrow">${active ? (sort.down ? '▾' : '▴') : ''}</span></button>`}
  </th>`;
}

function Cell({ column, row, scale, largest, missing }) {
  if (column.cell) return html`<td class=${column.unit !== undefined ? 'right' : column.className ?? ''}>${column.cell(row)}</td>`;
  const value = column.value(row);
  // names of kernels can be very long: two lines here, the whole on hover
  if (column.className === 'name' && value) return html`<td class="name"><span class="clamp" title=${value}>${value}</span></td>`;
  if (column.unit === undefined) return html`<td class=${column.className ?? ''}>${value ?? html`<span class="missing" title=${missing}>–</span>`}</td>`;
  return html`<td class="right"><span class=${isNumber(value) ? 'number' : 'missing'}
    title=${isNumber(value) ? exact(value, column.unit) : missing}>${scaled(value, scale, largest)}</span></td>`;
}

// columns: {id, label, value(row), unit?, group?, cell?(row), className?, title?, fixed?}; a column with a unit ("" for a
// plain number) is numeric, and those of one group are told in the same unit with as many digits. missing: what a cell
// without a value says on hover.
export function Table({ caption, columns, rows, sort: first, onSort, rowKey, missing = MISSING }) {
  const [sort, setSort] = useState(first);
  const [shown, setShown] = useState(PAGE);
  const sorted = useMemo(() => {
    const column = columns.find((c) => c.id === sort?.id);
    return column ? [...rows].sort(compare(column, sort.down)) : rows;
  }, [rows, sort]);
  const largestOf = (c) => rows.reduce((top, r) => Math.max(top, Math.abs(c.value(r) ?? 0)), 0);
  const measures = columns.map((c) => {
    if (c.unit === undefined) return {};
    const largest = Math.max(...(c.group ? columns.filter((o) => o.group === c.group) : [c]).map(largestOf));
    return { largest, scale: scaleOf(c.unit, largest) };
  });
  const choose = (column) => {
    const next = { id: column.id, down: sort?.id === column.id ? !sort.down : column.unit !== undefined };
    setSort(next);
    onSort?.(next);
  };
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}>
    <table>
      <thead><tr>${columns.map((c, i) => html`<${Head} key=${c.id} column=${c} scale=${measures[i].scale} sort=${sort} onSort=${choose} />`)}</tr></thead>
      <tbody>${sorted.slice(0, shown).map((row, n) => html`<tr key=${rowKey ? rowKey(row) : n}>
        ${columns.map((c, i) => html`<${Cell} key=${c.id} column=${c} row=${row} missing=${missing} ...${measures[i]} />`)}</tr>`)}</tbody>
    </table>
  </div>
  ${sorted.length > shown && html`<p class="more"><button type="button" onClick=${() => setShown(shown * 4)}>Show more</button>
    <span class="quiet">${shown} of ${many(sorted.length, 'row')}</span></p>`}`;
}
