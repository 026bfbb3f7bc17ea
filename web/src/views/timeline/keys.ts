// SPDX-License-Identifier: Apache-2.0
// Keys of the timeline. w/a/s/d as Perfetto has them: a press is a step, a held key goes on smoothly.
import type { KeyHelp } from '../contract.js';
import type { Engine } from './engine.js';
import type { Pointing } from './input.js';
import { neighbour } from './walk.js';

export const TIMELINE_KEYS: KeyHelp[] = [
  { keys: 'w s', what: 'zoom in, out (at the pointer)' },
  { keys: 'a d', what: 'move left, right' },
  { keys: '← →', what: 'previous, next row on the same level' },
  { keys: '↑ ↓', what: 'row around the selected one, first row inside it' },
  { keys: 'f', what: 'fit the selection or the marked span' },
  { keys: '0', what: 'show the whole recording' },
  { keys: 'm', what: 'mark the span of the selection (shift-drag marks any)' },
  { keys: '/', what: 'search names; /words/ is a regular expression' },
  { keys: 'n N', what: 'next, previous match' },
  { keys: 'g G', what: 'next, previous idle gap of the device' },
  { keys: 'c', what: 'close or open the lane of the selection' },
  { keys: 'Esc', what: 'drop span, selection, search' },
  { keys: 'ctrl wheel', what: 'zoom; shift-wheel moves, plain wheel scrolls' },
];

const STEP_ZOOM = 0.8;
const STEP_PAN = 0.12;
/** Held keys: a factor of ten takes about a second, a screen about 0.8 s. */
const ZOOM_PER_MS = Math.log(10) / 1000;
const PAN_PER_MS = 1 / 800;
const HOLD_AFTER_MS = 180;

export interface KeyEvents {
  focusSearch: () => void;
  clearSearch: () => void;
}

function isTyping(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open]')) return true;
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Arrows and Esc belong to what has the focus, if that is a control of the page. */
function isControl(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('button, a, summary, [role=tab]') !== null;
}

export function listenKeys(engine: Engine, pointing: Pointing, events: KeyEvents): () => void {
  const off = new AbortController();
  const held = new Map<string, number>();
  let running = 0;
  let last = 0;
  const width = () => engine.canvas.clientWidth;
  const around = () => Math.max(engine.left, pointing.x ?? (engine.left + width()) / 2);

  const glide = (now: number) => {
    const passed = Math.min(64, now - last);
    last = now;
    let zoom = 0;
    let pan = 0;
    for (const [key, since] of held) {
      if (now - since < HOLD_AFTER_MS) continue;
      if (key === 'w') zoom -= passed * ZOOM_PER_MS;
      if (key === 's') zoom += passed * ZOOM_PER_MS;
      if (key === 'a') pan -= passed * PAN_PER_MS;
      if (key === 'd') pan += passed * PAN_PER_MS;
    }
    if (zoom !== 0) engine.zoom(Math.exp(zoom), around());
    if (pan !== 0) engine.pan(pan * (width() - engine.left));
    running = held.size > 0 ? requestAnimationFrame(glide) : 0;
  };

  const hold = (key: string) => {
    if (held.has(key)) return;
    held.set(key, performance.now());
    if (key === 'w') engine.zoom(STEP_ZOOM, around());
    if (key === 's') engine.zoom(1 / STEP_ZOOM, around());
    if (key === 'a') engine.pan(-STEP_PAN * (width() - engine.left));
    if (key === 'd') engine.pan(STEP_PAN * (width() - engine.left));
    if (running === 0) {
      last = performance.now();
      running = requestAnimationFrame(glide);
    }
  };

  const escape = () => {
    if (engine.span) engine.setSpan(null);
    else if (engine.selection) engine.select(null);
    else events.clearSearch();
  };

  const once: Record<string, () => void> = {
    f: () => engine.fit(),
    '0': () => engine.setWindow({ start: 0, end: engine.model.spanNs }),
    m: () => engine.setSpan(engine.span ? null : engine.extent(engine.selection)),
    '/': events.focusSearch,
    n: () => engine.step(false),
    N: () => engine.step(true),
    g: () => engine.select(neighbour.gap(engine, 1), true),
    G: () => engine.select(neighbour.gap(engine, -1), true),
    c: () => neighbour.toggleLane(engine),
    Escape: escape,
    ArrowLeft: () => engine.select(neighbour.along(engine, -1), true),
    ArrowRight: () => engine.select(neighbour.along(engine, 1), true),
    ArrowUp: () => engine.select(neighbour.across(engine, -1), true),
    ArrowDown: () => engine.select(neighbour.across(engine, 1), true),
  };

  const down = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.key.startsWith('Arrow') && isControl(event.target)) return;
    const key =
      event.key.length === 1 && 'WASD'.includes(event.key) ? event.key.toLowerCase() : event.key;
    if ('wasd'.includes(key) && key.length === 1) hold(key);
    else if (once[key]) once[key]();
    else return;
    event.preventDefault();
  };
  const { signal } = off;
  window.addEventListener('keydown', down, { signal });
  window.addEventListener('keyup', (event) => held.delete(event.key.toLowerCase()), { signal });
  window.addEventListener('blur', () => held.clear(), { signal });
  return () => {
    off.abort();
    cancelAnimationFrame(running);
  };
}
