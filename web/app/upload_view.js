// The drop zone, the pickers and the list of uploads.
import { html, useEffect, useRef, useState } from './dom.js';
import { quantity } from './format.js';
import { filesOfDrop, filesOfInput } from './files.js';
import { ProblemBox, Progress } from './parts.js';
import { active, cancelUpload, dismissUpload, startUpload, uploads, watchUploads } from './uploads.js';

const STAGE = {
  waiting: 'waits for its turn', analysing: 'analysing', ready: 'ready', failed: 'failed', canceled: 'canceled',
};

function Upload({ item }) {
  const stage = item.stage === 'sending' ? `${Math.floor(item.sent * 100)} % sent` : STAGE[item.stage];
  const value = item.stage === 'sending' ? item.sent : item.stage === 'analysing' ? item.progress : 0;
  return html`<li class="upload">
    <p><strong class="name">${item.name}</strong> <span class="quiet">${quantity(item.bytes, 'bytes')}</span>
      <span class=${`stage ${item.stage}`}>${stage}</span>
      ${item.stage === 'ready' && html`<a href=${`#/profiles/${encodeURIComponent(item.profile)}`}>Open</a>`}
      ${active(item)
        ? html`<button type="button" onClick=${() => cancelUpload(item.id)} aria-label=${`Cancel ${item.name}`}>Cancel</button>`
        : html`<button type="button" onClick=${() => dismissUpload(item.id)} aria-label=${`Dismiss ${item.name}`}>Dismiss</button>`}</p>
    ${active(item) && html`<${Progress} value=${value} what=${`${item.name}: ${stage}`} />`}
    ${item.error && html`<${ProblemBox} error=${item.error} title=${item.error.status === 422 ? 'This could not be read as a profile' : undefined} />`}
  </li>`;
}

export function useUploads() {
  const [items, setItems] = useState(uploads());
  useEffect(() => watchUploads(setItems), []);
  return items;
}

export function UploadList() {
  const items = useUploads();
  const busy = items.filter(active).length;
  return html`<div class="uploads">
    <p class="hidden" role="status">${busy > 0 ? `${busy} upload${busy > 1 ? 's' : ''} in progress` : ''}</p>
    ${items.length > 0 && html`<section class="panel" aria-label="Uploads"><ul>${items.map((item) => html`<${Upload} key=${item.id} item=${item} />`)}</ul></section>`}
  </div>`;
}

function Picker({ text, id, folder }) {
  const input = useRef(null);
  // the attribute has no standard name, so it is set by hand
  useEffect(() => folder && input.current.setAttribute('webkitdirectory', ''), []);
  const pick = (event) => {
    startUpload(filesOfInput(event.target));
    event.target.value = '';
  };
  return html`<label class="button" for=${id}>${text}<input ref=${input} id=${id} type="file" multiple onChange=${pick} /></label>`;
}

export function DropZone() {
  return html`<section class="drop" aria-label="Upload a profile">
    <p><strong>Drop a profile anywhere on this page</strong></p>
    <p class="quiet">A trace, an archive, or the folder of a whole capture: PyTorch on GPUs or Ascend, MindSpore,
      msprof or Nsight Systems (SQLite); plain, gzip, zip or tar. Several files become one profile.</p>
    <p class="pickers"><${Picker} id="pick-files" text="Choose files" /> <${Picker} id="pick-folder" text="Choose a folder" folder /></p>
  </section>`;
}

// The whole window takes a drop. Enter and leave come for every element passed, so they are counted.
export function DropAnywhere() {
  const [over, setOver] = useState(false);
  useEffect(() => {
    let depth = 0;
    const carries = (e) => [...(e.dataTransfer?.types ?? [])].includes('Files');
    const on = {
      dragenter: (e) => carries(e) && (depth++, e.preventDefault(), setOver(true)),
      dragover: (e) => carries(e) && e.preventDefault(),
      dragleave: (e) => carries(e) && (depth = Math.max(0, depth - 1)) === 0 && setOver(false),
      drop: (e) => {
        depth = 0;
        setOver(false);
        if (!carries(e)) return;
        e.preventDefault();
        filesOfDrop(e.dataTransfer).then(startUpload);
      },
    };
    for (const [name, handler] of Object.entries(on)) window.addEventListener(name, handler);
    return () => {
      for (const [name, handler] of Object.entries(on)) window.removeEventListener(name, handler);
    };
  }, []);
  return over && html`<div class="overlay" aria-hidden="true"><p>Drop to upload</p></div>`;
}
