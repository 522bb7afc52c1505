// Kinds of plan without a view of their own: whatever their documents hold, as facts, lists and tables.
import { html } from './dom.js';
import { DASH, isNumber, memberName, memberNames, memberWords, quantity, sentence, told, words } from './format.js';
import { Facts, Section, unitOfMember } from './parts.js';
import { Quality } from './plan_parts.js';
import { degreesText } from './strategy.js';
import { Table } from './table.js';

const LONGEST = 12; // items of a list in a line
const isObject = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
const isStrategy = (v) => isObject(v) && isNumber(v.dp) && isNumber(v.tp);
const isRows = (v) => Array.isArray(v) && v.length > 0 && v.every(isObject);

// Equal items are counted. Whole numbers have no separators here, which would look like those of the items.
function listText(list, name, unit) {
  const item = (v) => {
    if (Array.isArray(v)) return `[${listText(v, name, unit)}]`;
    return Number.isInteger(v) && !unit ? String(v) : brief(v, name, unit) ?? DASH;
  };
  if (list.length > 3 && typeof list[0] !== 'object' && list.every((v) => v === list[0])) return `${list.length} × ${item(list[0])}`;
  return list.slice(0, LONGEST).map(item).join(', ') + (list.length > LONGEST ? ', …' : '');
}

function objectText(of, unit) {
  const entries = Object.entries(of).filter(([, v]) => v !== null);
  const said = entries.filter(([, v]) => !isRows(v))
    .map(([k, v]) => (k === 'strategy' ? brief(v) : `${memberWords(k)} ${brief(v, k, unitOfMember(k) ?? unit)}`));
  // tables do not go into a line, unless there is nothing else to say
  return (said.length > 0 ? said : entries.map(([k, rows]) => `${memberWords(k)}: ${listText(rows, k, unit)}`)).join(', ');
}

// A value in a few words: a fact, a cell, or what stands for a plan among others. unit: of the numbers in it.
export function brief(value, name = '', unit = unitOfMember(name)) {
  if (value === null || value === undefined) return null;
  if (isNumber(value)) return quantity(value, unit);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (isStrategy(value)) return degreesText(value);
  if (Array.isArray(value)) return listText(value, name, unit);
  return isObject(value) ? objectText(value, unit) : String(value);
}

// What bounds a time is one.
const unitAmong = (key, keys) => unitOfMember(key) ?? (key === 'lower_bound' && keys.includes('makespan_seconds') ? 'seconds' : undefined);

// The columns of a table are the members that its rows have, numbers of one unit together.
function columnsOf(rows, names) {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((k) => rows.some((row) => row[k] !== null && !isRows(row[k])));
  const labels = { ...memberNames(keys), ...names };
  return keys.map((key) => (rows.every((row) => row[key] === null || row[key] === undefined || isNumber(row[key]))
    ? { id: key, label: labels[key], unit: unitAmong(key, keys) ?? '', value: (row) => row[key] }
    : { id: key, label: labels[key], className: 'reason', value: (row) => brief(row[key], key) }));
}

export const Rows = ({ caption, rows, names }) => html`<${Table} caption=${caption} columns=${columnsOf(rows, names)} rows=${rows} missing="none" />`;

// Facts first, then what is itself a list of rows or a document.
export function Document({ of, depth = 3, names, unit }) {
  const entries = Object.entries(of ?? {});
  const inner = entries.filter(([, v]) => isRows(v) || (isObject(v) && !isStrategy(v) && Object.keys(v).length > 0));
  const facts = Object.fromEntries(entries.filter((e) => !inner.includes(e))
    .map(([k, v]) => [k, typeof v === 'object' && v !== null ? brief(v, k) : v]));
  const unitOf = (key) => unitOfMember(key) ?? (key === 'memory' ? 'bytes' : unit);
  const Title = `h${Math.min(depth, 6)}`;
  return html`<${Facts} of=${facts} names=${names} unit=${unit} />${inner.map(([key, value]) => html`${key !== 'rows' && html`<${Title} key=${key}>${memberName(key)}<//>`}${isRows(value)
    ? html`<${Rows} caption=${memberName(key)} rows=${value} />` : html`<${Document} of=${value} depth=${depth + 1} unit=${unitOf(key)} />`}`)}`;
}

const WHY = [
  { id: 'plan', label: 'Plan', className: 'reason', value: (a) => brief(a.solution) },
  { id: 'loses', label: 'Loses by', unit: 'share', value: (a) => a.loses_by },
  { id: 'reason', label: 'Why', className: 'reason', value: (a) => told(a.reason) },
];
const RULED_OUT = [
  { id: 'reason', label: 'Reason', className: 'reason', value: (r) => sentence(words(r.reason)) },
  { id: 'count', label: 'Candidates', unit: '', value: (r) => r.count },
  { id: 'example', label: 'For example', className: 'reason', value: (r) => brief(r.example) },
];

// Of a whole plan they are the memory of a device; of what is sent they are its size.
const OF_A_PLAN = { bytes: 'Memory' };

export function OtherPlan({ plan: { solution, predicted, quality, alternatives = [], rejected = [], frontier = [] } }) {
  return html`<${Section} id="result" title="Solution"><${Document} of=${solution} /><${Quality} quality=${quality} /><//>
    <${Section} id="predicted" title="Predicted"><${Document} of=${predicted} names=${OF_A_PLAN} /><//>
    ${frontier.length > 0 && html`<${Section} id="frontier" title="Frontier" note="No other plan is better in all of these."><${Rows} caption="Frontier" rows=${frontier} names=${OF_A_PLAN} /><//>`}
    ${alternatives.length + rejected.length > 0 && html`<${Section} id="alternatives" title="Why not another" note="The runners-up, and what was ruled out.">
      ${alternatives.length > 0 && html`<${Table} caption="Alternatives" columns=${WHY} rows=${alternatives} />`}
      ${rejected.length > 0 && html`<${Table} caption="Ruled out" columns=${RULED_OUT} rows=${rejected} />`}<//>`}`;
}
