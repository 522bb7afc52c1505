// Calls to the service. A failure of any kind is a Problem (RFC 9457).
export class Problem extends Error {
  constructor(document, status) {
    super(document.detail || document.title || 'The request failed.');
    this.document = document;
    this.status = status;
    this.code = document.code;
  }
}

export function problemOf(status, text, statusText) {
  try {
    const document = JSON.parse(text);
    if (document && typeof document === 'object') return new Problem(document, status);
  } catch {
    // not one of ours: a proxy in between, say
  }
  return new Problem({ title: statusText || 'The request failed', detail: `The answer was status ${status}.` }, status);
}

export const UNREACHABLE = {
  title: 'No answer',
  detail: 'The service could not be reached. Is it still running?',
  code: 'unreachable',
};

export async function call(method, path, { json, headers, signal, text } = {}) {
  const options = { method, headers: { Accept: 'application/json', ...headers }, signal };
  if (json !== undefined) {
    options.body = JSON.stringify(json);
    options.headers['Content-Type'] = 'application/json';
  }
  let response;
  let body;
  try {
    response = await fetch(path, options);
    body = await response.text();
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Problem(UNREACHABLE, 0);
  }
  if (!response.ok) throw problemOf(response.status, body, response.statusText);
  if (text) return body;
  try {
    return body ? JSON.parse(body) : null;
  } catch {
    throw new Problem({ title: 'Unreadable answer', detail: 'The service answered with broken JSON.' }, response.status);
  }
}

export const get = (path, options) => call('GET', path, options);

// The results of a profile never change once they are there: one fetch a page load.
const kept = new Map();
export function getOnce(path) {
  if (!kept.has(path)) {
    const promise = get(path);
    kept.set(path, promise);
    promise.catch(() => kept.delete(path));
  }
  return kept.get(path);
}

export const profilePath = (id, part) => `/v1/profiles/${encodeURIComponent(id)}${part ? `/${part}` : ''}`;
export const planPath = (id, part) => `/v1/plans/${encodeURIComponent(id)}${part ? `/${part}` : ''}`;

export const running = (state) => state === 'queued' || state === 'reading';

// Asks for a profile until its state is final, more rarely each time, and not at all while the page is hidden.
// seen(profile, progress) is called with each answer; progress is 0..1 or null.
export async function follow(id, seen, signal) {
  for (let delay = 300; ; delay = Math.min(delay * 1.6, 4000)) {
    const profile = await get(profilePath(id), { signal });
    let progress = null;
    if (running(profile.state)) {
      const job = await get(`/v1/jobs/${encodeURIComponent(id)}`, { signal }).catch(() => null);
      progress = typeof job?.progress === 'number' ? job.progress : null;
    }
    if (signal?.aborted) return;
    seen(profile, progress);
    if (!running(profile.state)) return;
    await rest(delay, signal);
  }
}

// Waits, and longer while the page is hidden.
export async function rest(milliseconds, signal) {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  while (document.hidden && !signal?.aborted)
    await new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));
}
