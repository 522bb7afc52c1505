// Times that are made of parts, as bars. A part: {id, member, label, title}.
import { html } from './dom.js';
import { isNumber, quantity } from './format.js';
import { Quantity } from './parts.js';

export const totalOf = (parts, row) => parts.reduce((sum, part) => sum + (row[part.member] ?? 0), 0);
export const measured = (parts, row) => parts.some((part) => isNumber(row[part.member]));

// The bar's words for those who do not see it.
const spoken = (parts, row, name) => `${name}: ${parts.filter((p) => isNumber(row[p.member]))
  .map((p) => `${p.label} ${quantity(row[p.member], 'us')}`).join(', ')}`;

function Segment({ part, value, whole, widest }) {
  if (!(value > 0)) return null;
  const share = value / whole;
  const width = (value / widest) * 100;
  return html`<span class=${`segment ${part.id}`} data-part=${part.id} style=${{ width: `${width}%` }}
    title=${`${part.label}: ${quantity(value, 'us')} (${quantity(share, 'share')}): ${part.title}`}>${width >= 9
    ? html`<span class="segment-text">${quantity(share, 'share')}</span>` : null}</span>`;
}

// instead: the total that stands behind a bar without parts
export function Bar({ parts, row, name, widest, instead }) {
  const whole = totalOf(parts, row);
  return html`<li class="bar-row"><span class="bar-name">${name}</span>
    ${measured(parts, row)
      ? html`<span class="bar" role="img" aria-label=${spoken(parts, row, name)}>${parts.map((part) => html`<${Segment}
          key=${part.id} part=${part} value=${row[part.member]} whole=${whole} widest=${widest} />`)}</span>`
      : html`<span class="bar none">no device events here</span>`}
    <span class="bar-total"><${Quantity} value=${measured(parts, row) ? whole : instead} unit="us" /></span></li>`;
}

export function Legend({ parts, rows }) {
  const shown = parts.filter((part) => rows.some((row) => row[part.member] > 0));
  return html`<ul class="legend" aria-label="Parts of the bars">${shown.map((part) => html`<li title=${part.title}><span
    class=${`swatch ${part.id}`} aria-hidden="true"></span>${part.label}</li>`)}</ul>`;
}
