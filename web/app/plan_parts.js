// What the views of all kinds of plan have in common.
import { html } from './dom.js';
import { isNumber, many, words } from './format.js';
import { Quantity } from './parts.js';

export const Big = ({ name, value, unit, note }) => html`<div class="big"><dt>${name}</dt><dd><${Quantity} value=${value} unit=${unit}
  missing="not predicted" />${note && html` <span class="quiet">${note}</span>`}</dd></div>`;

export function Quality({ quality: q }) {
  if (!q) return null;
  const by = q.objective ? ` by its objective, ${words(q.objective)}` : '';
  const how = q.optimal === true ? `Proven best for the stated model of cost${by}.` : q.optimal === false ? `Not proven best${by}.` : '';
  return html`<p>${how} ${isNumber(q.candidates) && `${many(q.candidates, 'candidate')} weighed`}${isNumber(q.search_seconds)
    && html` in <${Quantity} value=${q.search_seconds} unit="seconds" />`}.${isNumber(q.gap) && html` Gap to the lower bound <${Quantity} value=${q.gap} unit="share" />.`}${isNumber(q.model_error)
    && html` Expected error of the prediction <${Quantity} value=${q.model_error} unit="share" />.`}${q.proved && html` Proved: ${q.proved}.`}</p>`;
}
