// The uploads of this page: sent one after the other at most two at a time, then followed until analysed.
import { Problem, UNREACHABLE, follow, problemOf } from './api.js';
import { nameOf } from './files.js';

const AT_ONCE = 2;
let next = 1;
let items = [];
const listeners = new Set();

export const uploads = () => items;
export function watchUploads(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
const changed = () => listeners.forEach((listener) => listener(items));

function set(id, change) {
  items = items.map((item) => (item.id === id ? { ...item, ...change } : item));
  changed();
}
const find = (id) => items.find((item) => item.id === id);

export const active = (item) => item.stage === 'waiting' || item.stage === 'sending' || item.stage === 'analysing';

export function startUpload(files) {
  if (files.length === 0) return;
  const bytes = files.reduce((sum, { file }) => sum + file.size, 0);
  items = [...items, { id: next++, name: nameOf(files), files, bytes, sent: 0, stage: 'waiting', route: location.hash }];
  changed();
  pump();
}

export function cancelUpload(id) {
  const item = find(id);
  item.xhr?.abort();
  item.control?.abort();
  if (item.stage === 'waiting') set(id, { stage: 'canceled' });
}

export function dismissUpload(id) {
  items = items.filter((item) => item.id !== id);
  changed();
}

function pump() {
  const busy = items.filter((item) => item.stage === 'sending').length;
  items.filter((item) => item.stage === 'waiting').slice(0, Math.max(0, AT_ONCE - busy)).forEach(send);
}

// One file goes as it is; several go as one form, each under its relative path.
function bodyOf(files) {
  if (files.length === 1 && !files[0].path.includes('/')) return files[0].file;
  const form = new FormData();
  for (const { file, path } of files) form.append('file', file, path);
  return form;
}

// XMLHttpRequest, because fetch() does not tell how much was sent.
function send(item) {
  const xhr = new XMLHttpRequest();
  const body = bodyOf(item.files);
  const fail = (error) => {
    set(item.id, { stage: 'failed', error, xhr: undefined, files: [] });
    pump();
  };
  xhr.upload.onprogress = (e) => set(item.id, { sent: e.lengthComputable ? e.loaded / e.total : 0 });
  xhr.onerror = () => fail(new Problem({ ...UNREACHABLE, detail: 'The connection broke before the upload was whole.' }, 0));
  xhr.onabort = () => {
    set(item.id, { stage: 'canceled', xhr: undefined, files: [] });
    pump();
  };
  xhr.onload = () => {
    if (xhr.status < 200 || xhr.status > 299) return fail(problemOf(xhr.status, xhr.responseText, xhr.statusText));
    let profile = null;
    try {
      profile = JSON.parse(xhr.responseText);
    } catch {
      // told below
    }
    if (!profile?.id) return fail(new Problem({ title: 'Unreadable answer', detail: 'The service did not name the profile.' }, xhr.status));
    set(item.id, { stage: 'analysing', profile: profile.id, sent: 1, xhr: undefined, files: [] });
    pump();
    return analyse(item.id, profile.id);
  };
  xhr.open('POST', `/v1/profiles?name=${encodeURIComponent(item.name.slice(0, 200))}`);
  xhr.setRequestHeader('Accept', 'application/json');
  if (!(body instanceof FormData)) xhr.setRequestHeader('Content-Type', 'application/octet-stream');
  set(item.id, { stage: 'sending', xhr });
  xhr.send(body);
}

async function analyse(id, profile) {
  const control = new AbortController();
  set(id, { control });
  try {
    await follow(profile, (document, progress) => {
      if (document.state === 'failed') {
        const error = new Problem({ title: 'This could not be read as a profile', ...document.error }, 422);
        set(id, { stage: 'failed', error });
      } else {
        set(id, { stage: document.state === 'ready' ? 'ready' : 'analysing', progress });
      }
    }, control.signal);
  } catch (error) {
    set(id, error.name === 'AbortError' ? { stage: 'canceled' } : { stage: 'failed', error });
  }
  const item = find(id);
  // straight to the result, unless the reader has gone elsewhere meanwhile
  if (item?.stage === 'ready' && item.route === location.hash && !items.some(active)) {
    dismissUpload(id);
    location.hash = `#/profiles/${encodeURIComponent(profile)}`;
  }
}
