// The plan in the language of a launcher.
import { call, planPath } from './api.js';
import { html, useState } from './dom.js';
import { Loaded, Section, useLoaded } from './parts.js';

const LAUNCHERS = [['megatron', 'Megatron-LM'], ['mindspeed', 'MindSpeed'], ['deepspeed', 'DeepSpeed'], ['mindformers', 'MindFormers'],
  ['torchtitan', 'TorchTitan'], ['env', 'environment']];

function Copy({ text }) {
  const [said, setSaid] = useState('');
  const copy = () => navigator.clipboard.writeText(text).then(() => setSaid('Copied'), () => setSaid('Select the text and copy it by hand'));
  return html`<button type="button" onClick=${copy}>Copy</button> <span role="status" class="quiet">${said}</span>`;
}

export function ExportSection({ id, formats = LAUNCHERS }) {
  const [format, setFormat] = useState(formats[0][0]);
  const state = useLoaded((signal) => call('GET', `${planPath(id, 'export')}?format=${format}`,
    { signal, text: true, headers: { Accept: '*/*' } }), [id, format]);
  const choose = html`<label>Format <select value=${format} onChange=${(e) => setFormat(e.target.value)}>${formats.map(([value, label]) => html`<option
    value=${value}>${label}</option>`)}</select></label>`;
  return html`<${Section} id="export" title="Launch it" note="Flags for the launcher in use." tools=${choose}>
    <${Loaded} state=${state} what="the flags" problem="This plan cannot be written for this launcher">${(text) => html`<pre tabindex="0" class="flags" aria-label="Flags">${text}</pre><p><${Copy} text=${text} /></p>`}<//><//>`;
}
