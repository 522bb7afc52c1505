import { h, render } from 'preact';
import htm from 'htm';

const html = htm.bind(h);
render(html`<main><h1>Signalbox</h1></main>`, document.getElementById('app'));
