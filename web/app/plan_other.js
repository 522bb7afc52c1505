// Kinds of plan without a view of their own: whatever their documents hold, as facts, lists and tables.
import { html } from './dom.js';
import { isNumber, memberName, quantity, sentence, words } from './format.js';
import { Facts, Section, unitOfMember } from './parts.js';
import { Quality } from './plan_parts.js';
import { degreesText } from './strategy.js';
import { Table } from './table.js';

const LONGEST = 12; // items of a list in a line
const isObject = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
const isStrategy = (v) => isObject(v) && isNumber(v.dp) && isNumber(v.tp);
const isRows = (v) => Array.isArray(v) && v.length > 0 && v.every(isObject);

// A value in a few words: a fact, a cell, or what stands for a plan among others.
export function brief(value, name = '') {
  if (value === null || value === undefined) return null;
  if (isNumber(value)) return quantity(value, unitOfMember(name));
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (isStrategy(value)) return degreesText(value);
  if (Array.isArray(value)) {
    const shown = value.slice(0, LONGEST).map((v) => brief(v, name) ?? '–').join(', ');
    return value.some((v) => typeof v === 'object' && v !== null) ? `[${shown}${value.length > LONGEST ? ', …' : ''}]` : `${shown}${value.length > LONGEST ? ', …' : ''}`;
  }
  if (isObject(value))
    return Object.entries(value).filter(([, v]) => v !== null && !isRows(v)).map(([k, v]) => (k === 'strategy' ? brief(v) : `${words(k.replace(/_(seconds|bytes)$/, ''))} ${brief(v, k)}`)).join(', ');
  return String(value);
}

// The columns of a table are the members that its rows have, numbers of one unit together.
function columnsOf(rows) {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((k) => rows.some((row) => row[k] !== null && !isRows(row[k])));
  return keys.map((key) => (rows.every((row) => row[key] === null || row[key] === undefined || isNumber(row[key]))
    ? { id: key, label: memberName(key), unit: unitOfMember(key) ?? '', value: (row) => row[key] }
    : { id: key, label: memberName(key), className: 'reason', value: (row) => brief(row[key], key) }));
}

export const Rows = ({ caption, rows }) => html`<${Table} caption=${caption} columns=${columnsOf(rows)} rows=${rows} />`;

// Facts first, then what is itself a list of rows or a document.
export function Document({ of, depth = 3 }) {
  const entries = Object.entries(of ?? {});
  const inner = entries.filter(([, v]) => isRows(v) || (isObject(v) && !isStrategy(v) && Object.keys(v).length > 0));
  const facts = Object.fromEntries(entries.filter((e) => !inner.includes(e))
    .map(([k, v]) => [k, typeof v === 'object' && v !== null ? brief(v, k) : v]));
  const Title = `h${Math.min(depth, 6)}`;
  return html`<${Facts} of=${facts} />${inner.map(([key, value]) => html`<${Title} key=${key}>${memberName(key)}<//>${isRows(value)
    ? html`<${Rows} caption=${memberName(key)} rows=${value} />` : html`<${Document} of=${value} depth=${depth + 1} />`}`)}`;
}

const WHY = [
  { id: 'plan', label: 'Plan', className: 'reason', value: (a) => brief(a.solution) },
  { id: 'loses', label: 'Loses by', unit: 'share', value: (a) => a.loses_by },
  { id: 'reason', label: 'Why', className: 'reason', value: (a) => sentence(a.reason ?? '') },
];
const RULED_OUT = [
  { id: 'reason', label: 'Reason', className: 'reason', value: (r) => sentence(words(r.reason)) },
  { id: 'count', label: 'Candidates', unit: '', value: (r) => r.count },
  { id: 'example', label: 'For example', className: 'reason', value: (r) => brief(r.example) },
];

export function OtherPlan({ plan: { solution, predicted, quality, alternatives = [], rejected = [], frontier = [] } }) {
  return html`<${Section} id="result" title="Solution"><${Document} of=${solution} /><${Quality} quality=${quality} /><//>
    <${Section} id="predicted" title="Predicted"><${Document} of=${predicted} /><//>
    ${frontier.length > 0 && html`<${Section} id="frontier" title="Frontier" note="No other plan is better in all of these."><${Rows} caption="Frontier" rows=${frontier} /><//>`}
    ${alternatives.length + rejected.length > 0 && html`<${Section} id="alternatives" title="Why not another" note="The runners-up, and what was ruled out.">
      ${alternatives.length > 0 && html`<${Table} caption="Alternatives" columns=${WHY} rows=${alternatives} />`}
      ${rejected.length > 0 && html`<${Table} caption="Ruled out" columns=${RULED_OUT} rows=${rejected} />`}<//>`}`;
}
