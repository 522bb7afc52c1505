// Sending a plan request: what any form of one does.
import { Problem, call, get } from './api.js';
import { html, useState } from './dom.js';
import { ProblemBox } from './parts.js';

export class FieldError extends Error {}

export function parse(text, label) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FieldError(`${label}: this is not JSON. ${error.message}`);
  }
}

// A search that takes long is a job first; it names the plan when it is done.
async function solve(request) {
  let answer = await call('POST', '/v1/plans', { json: request, headers: { Prefer: 'wait=25' } });
  for (let delay = 500; answer.state === 'queued' || answer.state === 'running'; delay = Math.min(delay * 1.6, 4000)) {
    await new Promise((resolve) => setTimeout(resolve, delay));
    answer = await get(`/v1/jobs/${encodeURIComponent(answer.id)}`);
  }
  if (answer.state === 'failed') throw new Problem(answer.error ?? { detail: 'The search failed.' }, 422);
  return answer.object ?? answer.id;
}

// build() makes the request, or throws a FieldError; the plan is shown once it is there.
export function useSubmit(build) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    setError(null);
    setBusy(true);
    try {
      location.hash = `#/plans/${encodeURIComponent(await solve(build()))}`;
    } catch (problem) {
      setError(problem instanceof FieldError ? { document: { title: 'Please check the form', detail: problem.message } } : problem);
      setBusy(false);
    }
  };
  return { submit, busy, error };
}

export const Failed = ({ error }) => error && html`<div class="wide"><${ProblemBox} error=${error} title=${error.code === 'infeasible' ? 'No plan fits' : undefined} /></div>`;
