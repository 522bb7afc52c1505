// Sending a plan request: what any form of one does.
import { Problem, call, get, rest } from './api.js';
import { html, useEffect, useRef, useState } from './dom.js';
import { ProblemBox, Progress } from './parts.js';

export class FieldError extends Error {}

export function parse(text, label) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FieldError(`${label}: this is not JSON. ${error.message}`);
  }
}

const jobPath = (id) => `/v1/jobs/${encodeURIComponent(id)}`;
const searching = (job) => job.state === 'queued' || job.state === 'running';

// A search that takes long is a job, told to seen(); the id of the plan, or null when it was canceled.
async function solve(request, seen, signal) {
  const answer = await call('POST', '/v1/plans', { json: request, signal });
  if (!answer.state) return answer.id;
  let job = answer;
  for (let delay = 300; searching(job); delay = Math.min(delay * 1.4, 2000)) {
    seen(job);
    await rest(delay, signal);
    job = await get(jobPath(job.id), { signal });
  }
  if (job.state === 'canceled') return null;
  if (job.state === 'failed') throw new Problem(job.error, job.error.status);
  return decodeURIComponent(job.result.split('/').pop());
}

const problemOf = (error) => (error instanceof FieldError
  ? { document: { title: 'Please check the form', detail: error.message } } : error);

// build() makes the request, or throws a FieldError; the plan is shown once it is there, unless the form was left
// meanwhile. job: of a search that takes long, with cancel() to end it.
export function useSubmit(build) {
  const [state, setState] = useState({ busy: false, error: null, job: null });
  const left = useRef(null);
  useEffect(() => () => left.current?.abort(), []);
  const submit = async (event) => {
    event.preventDefault();
    const control = new AbortController();
    const begun = Date.now();
    left.current = control;
    setState({ busy: true, error: null, job: null });
    try {
      const seen = (job) => setState({ busy: true, error: null, job, seconds: Math.round((Date.now() - begun) / 1000) });
      const id = await solve(build(), seen, control.signal);
      if (id) location.hash = `#/plans/${encodeURIComponent(id)}`;
      else setState({ busy: false, error: null, job: null });
    } catch (error) {
      if (!control.signal.aborted) setState({ busy: false, error: problemOf(error), job: null });
    }
  };
  // one that has ended meanwhile shows how
  const cancel = () => call('DELETE', jobPath(state.job.id)).catch(() => null);
  return { ...state, submit, cancel };
}

// The button of a form, and what is known of the search that it began.
export function Submit({ label, busy, job, seconds, cancel }) {
  return html`<p class="wide tools"><button type="submit" class="primary" disabled=${busy}>${busy ? 'Searching…' : label}</button>
      ${job && html`<button type="button" onClick=${cancel}>Cancel</button>
      <span class="quiet" role="status">${job.state === 'queued' ? 'Waiting for other searches.' : `Searching for ${seconds} s. It goes on when you leave this page.`}</span>`}</p>
    ${job && html`<div class="wide"><${Progress} value=${job.progress || null} what="Search" /></div>`}`;
}

export const Failed = ({ error }) => error && html`<div class="wide"><${ProblemBox} error=${error} title=${error.code === 'infeasible' ? 'No plan fits' : undefined} /></div>`;
