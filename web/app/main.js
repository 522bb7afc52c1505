// The shell: routes by the part of the address after '#', header, uploads, footer.
import { get } from './api.js';
import { Compare } from './compare.js';
import { html, render, useEffect, useRef, useState } from './dom.js';
import { useLoaded } from './parts.js';
import { Plan } from './plan.js';
import { PlanForm } from './plan_form.js';
import { Plans } from './plans.js';
import { Profile } from './profile.js';
import { Profiles } from './profiles.js';
import { DropAnywhere, UploadList } from './upload_view.js';

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a broken link finds nothing, and says so
  }
}
const route = () => location.hash.replace(/^#\/?/, '').split('/').map(decode);

function view([family, id, part]) {
  if (!family || (family === 'profiles' && !id)) return ['Profiles', html`<${Profiles} />`];
  if (family === 'profiles') return ['Profile', html`<${Profile} key=${id} id=${id} part=${part} />`];
  if (family === 'compare') return ['Compare', html`<${Compare} base=${id} target=${part} />`];
  if (family === 'plans' && id === 'new') return ['New plan', html`<${PlanForm} />`];
  if (family === 'plans' && id) return ['Plan', html`<${Plan} key=${id} id=${id} />`];
  if (family === 'plans') return ['Plans', html`<${Plans} />`];
  return ['Nothing here', html`<h1 tabindex="-1">Nothing here</h1><p>This page does not exist. <a href="#/profiles">All profiles</a></p>`];
}

const Tab = ({ to, now, children }) => html`<a href=${`#/${to}`} aria-current=${now === to ? 'page' : undefined}>${children}</a>`;

function Footer() {
  const { data } = useLoaded((signal) => get('/v1/version', { signal }), []);
  return html`<footer><span>Signalbox${data?.version && ` ${data.version}`}</span> <a href="/openapi.json">API</a>
    <a href="/licenses">Licences</a></footer>`;
}

// After a change of view the reader is put at its heading, as on a page that was loaded.
function useHeadline(title, place) {
  const started = useRef(false);
  useEffect(() => {
    document.title = `${title} · Signalbox`;
    if (started.current) {
      document.querySelector('main h1')?.focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
    started.current = true;
  }, [place]);
}

function App() {
  const [now, setNow] = useState(route());
  useEffect(() => {
    const change = () => setNow(route());
    window.addEventListener('hashchange', change);
    return () => window.removeEventListener('hashchange', change);
  }, []);
  const [title, content] = view(now);
  const family = now[0] || 'profiles';
  useHeadline(title, family === 'compare' ? family : `${family}/${now[1] ?? ''}`); // choosing a side is no change of view
  const skip = (e) => {
    e.preventDefault();
    document.querySelector('main h1')?.focus();
  };
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header class="top"><a class="brand" href="#/profiles"><img src="/favicon.svg" alt="" width="22" height="22" />Signalbox</a>
      <nav aria-label="Main"><${Tab} to="profiles" now=${family}>Profiles<//><${Tab} to="compare" now=${family}>Compare<//><${Tab}
        to="plans" now=${family}>Plans<//></nav></header>
    <main id="main"><${UploadList} />${content}</main>
    <${Footer} /><${DropAnywhere} />`;
}

render(html`<${App} />`, document.getElementById('app'));
