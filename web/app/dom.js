// One door to the libraries, so that no other module names them.
import { h, render } from 'preact';
import htm from 'htm';

export const html = htm.bind(h);
export { render };
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
// The value of a custom property of the page: a colour of the present scheme.
export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
