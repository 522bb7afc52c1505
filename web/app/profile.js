// One profile: what it is, what is wrong with it, and where its time went.
import { call, follow, getOnce, profilePath, running } from './api.js';
import { BreakdownSection } from './breakdown.js';
import { CommunicationSection } from './communication.js';
import { CriticalPathSection } from './critical_path.js';
import { html, useEffect, useState } from './dom.js';
import { FindingsSection, NotEvaluated, VerdictPanel } from './findings.js';
import { many, ranges, when } from './format.js';
import { FORMATS, STATES } from './labels.js';
import { MemorySection } from './memory.js';
import { OperatorsSection } from './operators.js';
import { Confirm, Loading, Place, ProblemBox, Progress, Quantity, useLoaded } from './parts.js';
import { TimelineSection } from './timeline.js';

const PARTS = [['findings', 'Findings'], ['breakdown', 'Breakdown'], ['critical-path', 'Critical path'], ['timeline', 'Timeline'],
  ['operators', 'Operators'], ['communication', 'Communication'], ['memory', 'Memory'],
  ['open', 'Not evaluated']];

const Fact = ({ name, children }) => html`<div><dt>${name}</dt><dd>${children}</dd></div>`;

function Header({ profile: p }) {
  const list = (values, none) => (values?.length > 0 ? ranges(values) : html`<span class="missing" title=${none}>–</span>`);
  const ready = p.state === 'ready';
  return html`<dl class="facts">
    ${ready && html`<${Fact} name="Format">${FORMATS[p.format] ?? p.format ?? '–'}<//>
    ${p.chip && html`<${Fact} name="Chip">${p.chip}<//>`}
    <${Fact} name="Ranks">${list(p.ranks, 'no rank is named in this capture')}<//>
    <${Fact} name="Steps">${list(p.steps, 'no steps are marked in this capture')}<//>
    <${Fact} name="Devices">${list(p.devices, 'no device in this capture')}<//>
    <${Fact} name="Events"><${Quantity} value=${p.events} unit="" /><//>`}
    <${Fact} name="Size"><${Quantity} value=${p.bytes} unit="bytes" /><//>
    <${Fact} name="Received">${when(p.created_at)}<//>
    ${p.sha256 && html`<${Fact} name="SHA-256"><code title=${p.sha256}>${p.sha256.slice(0, 12)}…</code><//>`}
  </dl>`;
}

function Warnings({ profile: p }) {
  const warnings = p.warnings ?? [];
  const left = p.left_out ?? [];
  if (warnings.length + left.length === 0) return null;
  const title = [warnings.length > 0 && many(warnings.length, 'warning'),
    left.length > 0 && `${many(left.length, 'file')} not used`].filter(Boolean).join(', ');
  return html`<details class=${warnings.length > 0 ? 'notes warnings' : 'notes'}><summary>${title}</summary><ul>
    ${warnings.map((w) => html`<li><code>${w.code}</code> ${w.detail} <${Place} of=${w} />${w.count > 1
      && html` <span class="quiet">${many(w.count, 'time')}, first here</span>`}</li>`)}
    ${left.map((l) => html`<li><code class="place">${l.file}</code> ${l.reason}</li>`)}
  </ul></details>`;
}

function Results({ profile }) {
  const analysis = useLoaded(() => getOnce(profilePath(profile.id, 'analysis')), [profile.id]);
  const advice = useLoaded(() => getOnce(profilePath(profile.id, 'advice')), [profile.id]);
  return html`<${VerdictPanel} state=${analysis} />
    <nav class="parts" aria-label="Parts of this profile">${PARTS.map(([id, text]) => html`<a
      href=${`#/profiles/${encodeURIComponent(profile.id)}/${id}`}>${text}</a>`)}</nav>
    <${FindingsSection} analysis=${analysis} advice=${advice} />
    <${BreakdownSection} id=${profile.id} />
    <${CriticalPathSection} profile=${profile} />
    <${TimelineSection} profile=${profile} />
    <${OperatorsSection} profile=${profile} />
    <${CommunicationSection} id=${profile.id} />
    <${MemorySection} id=${profile.id} />
    <${NotEvaluated} state=${analysis} />`;
}

function Waiting({ profile, progress }) {
  return html`<section class="panel" aria-label="Progress"><p role="status">${profile.state === 'queued'
    ? 'Waiting for its turn.' : 'Still analysing.'} This page follows by itself.</p>
    <${Progress} value=${progress} what="Analysis" /></section>`;
}

function useProfile(id) {
  const [state, setState] = useState({});
  useEffect(() => {
    const control = new AbortController();
    setState({});
    follow(id, (profile, progress) => setState({ profile, progress }), control.signal)
      .catch((error) => !control.signal.aborted && setState({ error }));
    return () => control.abort();
  }, [id]);
  return state;
}

function Content({ profile, progress }) {
  return html`<${Header} profile=${profile} />
    <${Warnings} profile=${profile} />
    ${running(profile.state) && html`<${Waiting} profile=${profile} progress=${progress} />`}
    ${profile.state === 'failed' && html`<${ProblemBox} title="This could not be read as a profile"
      error=${{ document: profile.error ?? {}, message: 'No reason was kept.' }} />`}
    ${profile.state === 'ready' && html`<${Results} profile=${profile} />`}`;
}

// A link may name a part of the view; the parts above it grow while they load, so the scroll waits for them.
function useScrollTo(part, ready) {
  useEffect(() => {
    if (!part || !ready) return undefined;
    const go = () => document.getElementById(part)?.scrollIntoView();
    go();
    const timer = setTimeout(go, 250);
    return () => clearTimeout(timer);
  }, [part, ready]);
}

export function Profile({ id, part }) {
  const { profile, progress, error } = useProfile(id);
  const [deleted, setDeleted] = useState(null);
  useScrollTo(part, profile?.state === 'ready');
  const remove = () => call('DELETE', profilePath(id)).then(() => (location.hash = '#/profiles'), setDeleted);
  // one heading for all states: it has the focus after a change of view, and must not be replaced
  return html`<header class="view-head"><h1 tabindex="-1" class="name">${profile?.name ?? 'Profile'}</h1>
      ${profile && html`<span class=${`state ${profile.state}`}>${STATES[profile.state] ?? profile.state}</span>
        <span class="actions">${profile.state === 'ready' && html`<a class="button" href=${profilePath(id, 'report')} target="_blank" rel="noopener">Report</a>
          <a class="button" href=${`#/compare/${encodeURIComponent(id)}`}>Compare</a>`}
        <${Confirm} label="Delete" question="Delete this profile for good?" action=${remove} /></span>`}</header>
    ${(error ?? deleted) && html`<${ProblemBox} error=${error ?? deleted} />`}
    ${profile ? html`<${Content} profile=${profile} progress=${progress} />` : !error && html`<${Loading} what="the profile" />`}`;
}
