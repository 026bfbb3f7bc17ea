// SPDX-License-Identifier: Apache-2.0
// Pointer and keys of the flame chart.
import type { KeyHelp } from '../contract.js';
import type { FlameEngine } from './engine.js';

export const FLAME_KEYS: KeyHelp[] = [
  { keys: '← →', what: 'previous, next node beside the picked one' },
  { keys: '↑ ↓', what: 'caller, largest callee' },
  { keys: 'Enter', what: 'zoom into the picked node (or click it)' },
  { keys: 'Esc', what: 'zoom out by one' },
  { keys: '0', what: 'show everything' },
  { keys: '/ n N', what: 'search, next, previous match' },
  { keys: 'h', what: 'widths by host or device time' },
];

export interface FlameEvents {
  point: (node: number, x: number, y: number) => void;
  switchWeight: () => void;
}

/** The node `by` places beside the picked one, among what its caller calls. */
function beside(engine: FlameEngine, by: 1 | -1): number {
  const { icicle, selected } = engine;
  if (selected < 0) return icicle.kids[icicle.firstKid[icicle.tree.parent.length]!] ?? -1;
  const parent = icicle.tree.parent[selected]!;
  const slot = parent < 0 ? icicle.tree.parent.length : parent;
  const kids = icicle.kids.subarray(icicle.firstKid[slot], icicle.firstKid[slot + 1]);
  const next = kids[kids.indexOf(selected) + by];
  return next !== undefined && icicle.total[next]! > 0 ? next : selected;
}

function below(engine: FlameEngine): number {
  const { icicle, selected } = engine;
  const slot = selected < 0 ? icicle.tree.parent.length : selected;
  const kid = icicle.kids[icicle.firstKid[slot]!];
  const has = icicle.firstKid[slot]! < icicle.firstKid[slot + 1]!;
  return has && kid !== undefined && icicle.total[kid]! > 0 ? kid : selected;
}

function above(engine: FlameEngine, node: number): number {
  return node < 0 ? -1 : (engine.icicle.tree.parent[node] ?? -1);
}

function isElsewhere(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return true;
  return document.querySelector('dialog[open]') !== null;
}

function listenKeys(engine: FlameEngine, events: FlameEvents, signal: AbortSignal): void {
  const actions: Record<string, () => void> = {
    ArrowLeft: () => engine.select(beside(engine, -1)),
    ArrowRight: () => engine.select(beside(engine, 1)),
    ArrowDown: () => engine.select(below(engine)),
    ArrowUp: () => {
      const up = above(engine, engine.selected);
      if (up >= 0) engine.select(up);
    },
    Enter: () => engine.selected >= 0 && engine.zoomTo(engine.selected),
    Escape: () => engine.zoomTo(above(engine, engine.focus)),
    Backspace: () => engine.zoomTo(above(engine, engine.focus)),
    '0': () => engine.zoomTo(-1),
    n: () => engine.step(false),
    N: () => engine.step(true),
    h: events.switchWeight,
  };
  window.addEventListener(
    'keydown',
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isElsewhere(event.target)) return;
      const control =
        event.target instanceof HTMLElement && event.target.closest('button, a, summary');
      if (control && /^(Arrow|Enter)/.test(event.key)) return;
      const action = actions[event.key];
      if (!action) return;
      action();
      event.preventDefault();
    },
    { signal },
  );
}

export function listenFlame(
  engine: FlameEngine,
  scroller: HTMLElement,
  events: FlameEvents,
): () => void {
  const off = new AbortController();
  const { signal } = off;
  const { canvas } = engine;
  const place = (event: MouseEvent): [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener(
    'pointermove',
    (event) => {
      if (event.pointerType === 'touch') return;
      const [x, y] = place(event);
      const node = engine.hit(x, y);
      engine.setHover(node);
      canvas.style.cursor = node >= 0 ? 'pointer' : 'default';
      events.point(node, x, y);
    },
    { signal },
  );
  const leave = () => {
    engine.setHover(-1);
    events.point(-1, 0, 0);
  };
  canvas.addEventListener('pointerleave', leave, { signal });
  canvas.addEventListener(
    'click',
    (event) => {
      const node = engine.hit(...place(event));
      if (node < 0) return;
      // A click on what is zoomed into goes back out.
      engine.zoomTo(node === engine.focus ? above(engine, node) : node);
    },
    { signal },
  );
  scroller.addEventListener(
    'scroll',
    () => {
      events.point(-1, 0, 0);
      engine.requestDraw();
    },
    { signal, passive: true },
  );
  listenKeys(engine, events, signal);
  return () => off.abort();
}
