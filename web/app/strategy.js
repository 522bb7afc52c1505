// A strategy in words: the degrees of parallelism and the options.
import { html } from './dom.js';
import { isNumber, quantity } from './format.js';

export const DEGREES = [
  ['dp', 'data'], ['tp', 'tensor'], ['cp', 'context'], ['pp', 'pipeline'], ['vpp', 'chunks a stage'], ['ep', 'expert'],
  ['etp', 'expert tensor'],
];

// The two sides of the tensor ranks.
const grid = (s) => `${s.tp_x}×${s.tp / s.tp_x}`;

// "optimizer 36 %, activations": what waits in host memory, a whole thing without its share
function offloadText(offload) {
  if (typeof offload !== 'object' || offload === null) return text(offload);
  const parts = Object.entries(offload).filter(([, part]) => part > 0);
  return parts.map(([name, part]) => (part === 1 ? name : `${name} ${quantity(part, 'share')}`)).join(', ') || 'none';
}

// "dp8 tp8 pp8 vpp2 zero1 mb1×192 recompute selective": what is 1 or off is left out, except dp, tp and pp
export function degreesText(s) {
  if (!s) return '';
  const always = ['dp', 'tp', 'pp'];
  const parts = DEGREES.filter(([k]) => isNumber(s[k]) && (s[k] > 1 || always.includes(k))).map(([k]) => `${k}${s[k]}`);
  if (s.tp_x > 1) parts.push(`grid ${grid(s)}`);
  if (s.zero) parts.push(`zero${s.zero}`);
  if (s.sequence_parallel) parts.push('sp');
  if (isNumber(s.micro_batch)) parts.push(`mb${s.micro_batch}${isNumber(s.micro_batches) ? `×${s.micro_batches}` : ''}`);
  if (s.recompute && s.recompute !== 'none') parts.push(`recompute ${s.recompute}`);
  if (s.offload && offloadText(s.offload) !== 'none') parts.push(`offload ${offloadText(s.offload)}`);
  return parts.join(' ');
}

const Item = ({ name, title, value }) => html`<div title=${title}><dt>${name}</dt><dd>${value}</dd></div>`;
const text = (v) => (v === null || v === undefined || v === false ? 'none' : v === true ? 'all' : Array.isArray(v) ? v.join(', ') : String(v));

// how many of the cluster's devices, and of each node's, where it leaves some idle
function devicesText(s, cluster) {
  const all = cluster?.nodes * cluster?.devices_per_node;
  return s.devices_used.toLocaleString('en-US') + (s.devices_used < all ? ` of ${all.toLocaleString('en-US')}` : '')
    + (s.devices_per_node ? `, ${s.devices_per_node} of each node` : '');
}

export function Degrees({ solution: s, cluster }) {
  return html`<dl class="degrees">
    ${DEGREES.filter(([k]) => isNumber(s[k])).map(([k, name]) => html`<${Item} key=${k} name=${k} title=${`${name} parallel degree`} value=${s[k]} />`)}
  </dl><dl class="facts">
    ${isNumber(s.devices_used) && html`<${Item} name="Devices" value=${devicesText(s, cluster)} />`}
    ${isNumber(s.micro_batch) && html`<${Item} name="Micro-batch" value=${`${s.micro_batch} × ${s.micro_batches ?? '–'}`} title="sequences in one, and how many a step" />`}
    ${s.tp_x > 1 && html`<${Item} name="Tensor grid" value=${grid(s)} title="tp_x × tp_y" />`}
    ${s.zero !== undefined && html`<${Item} name="ZeRO" value=${s.zero} />`}
    ${s.sequence_parallel !== undefined && html`<${Item} name="Sequence parallel" value=${s.sequence_parallel ? 'yes' : 'no'} />`}
    ${s.recompute !== undefined && html`<${Item} name="Recompute" value=${text(s.recompute)} />`}
    ${s.offload !== undefined && html`<${Item} name="Offload" value=${offloadText(s.offload)} title="what waits in host memory" />`}
    ${s.order !== undefined && s.order !== null && html`<${Item} name="Order" value=${text(s.order)} title="innermost first" />`}
  </dl>`;
}
