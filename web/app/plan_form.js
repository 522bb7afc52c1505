// The form of a plan request: which kind, and of a strategy model, cluster, batch, constraints.
import { get } from './api.js';
import { html, useState } from './dom.js';
import { words } from './format.js';
import { Loaded, useLoaded } from './parts.js';
import { ProblemForm } from './plan_problem_form.js';
import { Failed, FieldError, Submit, parse, useSubmit } from './plan_request.js';
import { constraintFields, enumOf } from './schema.js';

const OWN = ' own'; // no name starts with a space
const NOT_INLINE = ['name', 'preset', 'source', 'sources', 'id', 'created_at', 'updated_at'];

const inline = (document) => JSON.stringify(
  Object.fromEntries(Object.entries(document ?? {}).filter(([key]) => !NOT_INLINE.includes(key))), null, 2);

const SAMPLE = {
  model: { layers: 32, hidden: 4096, heads: 32, ffn_hidden: 11008, gated_ffn: true, vocab: 32000, seq_len: 4096 },
  cluster: { nodes: 4, devices_per_node: 8, device: 'a100-80g', links: [
    { scope: 'node', bytes_per_second: 3e11 }, { scope: 'cluster', bytes_per_second: 2.5e10 }] },
};

// A name from the list, or the document itself.
function Named({ id, label, items, value, set }) {
  const choose = (e) => set({ ...value, name: e.target.value });
  const edit = () => set({ name: OWN, text: inline(items.find((i) => i.name === value.name) ?? SAMPLE[id]) });
  const source = items.find((i) => i.name === value.name)?.source;
  const group = (preset) => items.filter((i) => Boolean(i.preset) === preset);
  return html`<div class="field"><label for=${id}>${label}</label>
    <span class="pair"><select id=${id} value=${value.name} onChange=${choose}>
      ${group(true).length > 0 && html`<optgroup label="Presets">${group(true).map((i) => html`<option value=${i.name}>${i.name}</option>`)}</optgroup>`}
      ${group(false).length > 0 && html`<optgroup label="Stored here">${group(false).map((i) => html`<option value=${i.name}>${i.name}</option>`)}</optgroup>`}
      <option value=${OWN}>own, as JSON</option></select>
    ${value.name !== OWN && html`<button type="button" onClick=${edit}>Edit as JSON</button>`}</span>
    ${value.name === OWN && html`<textarea aria-label=${`${label} as JSON`} rows="9" spellcheck="false" value=${value.text}
      onInput=${(e) => set({ ...value, text: e.target.value })}></textarea>`}${source && html`<span class="quiet">${source}</span>`}</div>`;
}

const named = (value, label) => (value.name === OWN ? parse(value.text, label) : value.name);

function whole(text, label) {
  const n = Number(text);
  if (!Number.isInteger(n) || n < 1) throw new FieldError(`${label}: a whole number from 1 up is needed.`);
  return n;
}

// A preset is often one node: the number of nodes is laid over it.
const clusterOf = (form) => (form.nodes && form.cluster.name !== OWN
  ? { preset: form.cluster.name, nodes: whole(form.nodes, 'Nodes') } : named(form.cluster, 'Cluster'));

// What is left empty is not sent: the service has its own defaults.
export function requestOf(form, fields) {
  const request = { kind: 'strategy', model: named(form.model, 'Model'), cluster: clusterOf(form),
    batch: { global_sequences: whole(form.sequences, 'Sequences a step') } };
  if (form.micro) request.batch.micro = whole(form.micro, 'Micro-batch');
  if (form.objective) request.objective = form.objective;
  const constraints = form.more.trim() ? parse(form.more, 'More constraints') : {};
  for (const field of fields) {
    const value = form.constraints[field.name];
    if (value !== undefined && value !== '') constraints[field.name] = field.read(value);
  }
  if (Object.keys(constraints).length > 0) request.constraints = constraints;
  return request;
}

function Constraint({ field, value, set }) {
  const id = `constraint-${field.name}`;
  return html`<div class="field"><label for=${id} title=${field.title}>${field.label}</label>
    ${field.options
      ? html`<select id=${id} value=${value} onChange=${(e) => set(e.target.value)}><option value="">any</option>${field.options.map((o) => html`<option value=${String(o)}>${String(o)}</option>`)}</select>`
      : field.text ? html`<input id=${id} value=${value} placeholder="any" autocomplete="off" onInput=${(e) => set(e.target.value)} />`
      : html`<input id=${id} type="number" min=${field.minimum} step=${field.whole ? 1 : 'any'} value=${value} placeholder="any" onInput=${(e) => set(e.target.value)} />`}</div>`;
}

function Nodes({ clusters, form, set }) {
  const chosen = clusters.find((c) => c.name === form.cluster.name);
  if (!chosen) return null;
  const nodes = Number(form.nodes) || chosen.nodes;
  const devices = nodes * chosen.devices_per_node;
  return html`<div class="field"><label for="nodes">Nodes</label><span class="pair"><input id="nodes" type="number" min="1" step="1" value=${form.nodes}
    placeholder=${String(chosen.nodes ?? 'as in the preset')} onInput=${(e) => set({ nodes: e.target.value })} />${devices > 0
    && html`<span class="hint quiet">× ${chosen.devices_per_node} = ${devices.toLocaleString('en-US')} devices</span>`}</span></div>`;
}

const first = (items, wanted) => (items.find((i) => i.name === wanted) ?? items[0])?.name ?? OWN;

function Form({ models, clusters, schema }) {
  const [form, setForm] = useState({
    model: { name: first(models, 'llama3-8b'), text: inline(SAMPLE.model) }, cluster: { name: first(clusters, 'dgx-h100'), text: inline(SAMPLE.cluster) },
    nodes: '', sequences: '1024', micro: '', objective: '', constraints: {}, more: '' });
  const set = (change) => setForm((old) => ({ ...old, ...change }));
  const fields = constraintFields(schema);
  const objectives = enumOf(schema, 'objective');
  const { submit, error, ...state } = useSubmit(() => requestOf(form, fields));
  return html`<form class="panel plan-form" onSubmit=${submit}>
    <${Named} id="model" label="Model" items=${models} value=${form.model} set=${(model) => set({ model })} />
    <${Named} id="cluster" label="Cluster" items=${clusters} value=${form.cluster} set=${(cluster) => set({ cluster })} />
    <div class="field"><label for="sequences">Sequences a step</label><input id="sequences" type="number" min="1" step="1" required value=${form.sequences}
      onInput=${(e) => set({ sequences: e.target.value })} /></div>
    <${Nodes} clusters=${clusters} form=${form} set=${set} />
    <div class="field"><label for="micro">Micro-batch (sequences)</label><input id="micro" type="number" min="1" step="1" value=${form.micro} placeholder="any"
      onInput=${(e) => set({ micro: e.target.value })} /></div>
    ${objectives.length > 1 && html`<div class="field"><label for="objective">Objective</label><select id="objective" value=${form.objective}
      onChange=${(e) => set({ objective: e.target.value })}><option value="">default</option>${objectives.map((o) => html`<option value=${o}>${o}</option>`)}</select></div>`}
    <details class="wide"><summary>Constraints</summary><div class="constraints">
      ${fields.map((f) => html`<${Constraint} key=${f.name} field=${f} value=${form.constraints[f.name] ?? ''}
        set=${(v) => set({ constraints: { ...form.constraints, [f.name]: v } })} />`)}
      <div class="field wide"><label for="more">More constraints, as JSON</label><textarea id="more" rows="3" spellcheck="false" value=${form.more}
        placeholder=${'{ }'} onInput=${(e) => set({ more: e.target.value })}></textarea></div></div></details>
    <${Submit} label="Find the best plan" ...${state} />
    <${Failed} error=${error} />
  </form>`;
}

async function everything(signal) {
  const [models, clusters, kinds] = await Promise.all([
    get('/v1/models?limit=500', { signal }), get('/v1/clusters?limit=500', { signal }), get('/v1/plan-kinds', { signal })]);
  return { models: models.items, clusters: clusters.items, kinds: kinds.items };
}

const STRATEGY = 'strategy';

function Kinds({ models, clusters, kinds }) {
  const [chosen, setChosen] = useState(STRATEGY);
  const kind = kinds.find((k) => k.kind === chosen) ?? kinds[0];
  return html`<p class="tools"><label>Kind <select value=${kind.kind} onChange=${(e) => setChosen(e.target.value)}>${kinds.map((k) => html`<option
      value=${k.kind}>${words(k.kind)}</option>`)}</select></label>
    <span class="quiet">${kind.kind === STRATEGY ? 'How to split the model over the cluster so that a step is shortest and fits in memory.' : 'The problem as JSON, as the API takes it.'}</span></p>
    ${kind.kind === STRATEGY ? html`<${Form} models=${models} clusters=${clusters} schema=${kind.schema ?? {}} />` : html`<${ProblemForm} key=${kind.kind} kind=${kind} />`}`;
}

export function PlanForm() {
  const state = useLoaded(everything, []);
  return html`<header class="view-head"><h1 tabindex="-1">New plan</h1><a href="#/plans">Recent plans</a></header>
    <${Loaded} state=${state} what="models and clusters">${(data) => html`<${Kinds} ...${data} />`}<//>`;
}
