// SPDX-License-Identifier: Apache-2.0
// Pointer and wheel on the canvas: drag moves, shift-drag or a drag on the ruler marks a span,
// ctrl-wheel and two fingers zoom, a plain wheel scrolls the lanes (by the browser).
import type { Engine } from './engine.js';
import type { Hit } from './hit.js';

/** Pixels a press may move and still be a click. */
const STILL = 4;

export interface Pointing {
  /** x of the pointer on the canvas, for zooms by key; null while it is elsewhere. */
  x: number | null;
}

export interface InputEvents {
  /** What is under the pointer, and where on the canvas; null when it left. */
  point: (hit: Hit | null, x: number, y: number) => void;
}

type Press = { x: number; y: number; mode: 'none' | 'pan' | 'span'; from: number; moved: boolean };

/** Returns what takes the listeners away. */
export function listen(
  engine: Engine,
  scroller: HTMLElement,
  pointing: Pointing,
  events: InputEvents,
): () => void {
  const { canvas } = engine;
  const fingers = new Map<number, { x: number; y: number }>();
  let press: Press | null = null;

  const place = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const at = place(event);
    fingers.set(event.pointerId, at);
    canvas.setPointerCapture(event.pointerId);
    const hit = engine.hit(at.x, at.y);
    const onHead = hit.area === 'head' || hit.area === 'steps';
    const marks = event.shiftKey || (onHead && at.x >= engine.left);
    press = { ...at, mode: marks ? 'span' : 'pan', from: engine.timeAt(at.x), moved: false };
    if (hit.area === 'names') press.mode = 'none';
  };

  const pinch = (event: PointerEvent, at: { x: number; y: number }) => {
    const [a, b] = [...fingers.values()];
    if (!a || !b) return;
    const before = Math.abs(a.x - b.x);
    const middle = (a.x + b.x) / 2;
    fingers.set(event.pointerId, at);
    const [c, d] = [...fingers.values()];
    if (!c || !d) return;
    const after = Math.abs(c.x - d.x);
    engine.pan(middle - (c.x + d.x) / 2);
    if (before > 10 && after > 10) engine.zoom(before / after, (c.x + d.x) / 2);
    press = null;
  };

  const move = (event: PointerEvent) => {
    const at = place(event);
    pointing.x = at.x;
    if (fingers.size === 2 && fingers.has(event.pointerId)) {
      pinch(event, at);
      return;
    }
    if (!press) {
      const hit = engine.hit(at.x, at.y);
      engine.setHover(hit.pick);
      events.point(hit, at.x, at.y);
      return;
    }
    if (!press.moved && Math.hypot(at.x - press.x, at.y - press.y) < STILL) return;
    events.point(null, 0, 0);
    const last = fingers.get(event.pointerId) ?? at;
    press.moved = true;
    fingers.set(event.pointerId, at);
    if (press.mode === 'span') {
      const to = engine.timeAt(Math.max(engine.left, at.x));
      engine.setSpan({ start: Math.min(press.from, to), end: Math.max(press.from, to) });
    } else if (press.mode === 'pan') {
      engine.pan(last.x - at.x);
      if (event.pointerType !== 'touch') scroller.scrollTop += last.y - at.y;
    }
  };

  const up = (event: PointerEvent) => {
    fingers.delete(event.pointerId);
    if (!press || press.moved) {
      press = null;
      return;
    }
    press = null;
    const at = place(event);
    const hit = engine.hit(at.x, at.y);
    if (hit.area === 'names') engine.toggleLane(hit.lane);
    else if (hit.area === 'steps') markStep(engine, hit.step ?? -1);
    else if (hit.area === 'head') engine.setSpan(null);
    else engine.select(hit.pick);
  };

  const cancel = (event: PointerEvent) => {
    fingers.delete(event.pointerId);
    press = null;
  };

  const leave = () => {
    pointing.x = null;
    engine.setHover(null);
    events.point(null, 0, 0);
  };

  const wheel = (event: WheelEvent) => {
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const dx = event.deltaX * unit;
    const dy = event.deltaY * unit;
    events.point(null, 0, 0);
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      // A notch of a mouse (100 or 120) is a quarter; a touchpad sends many small ones.
      engine.zoom(
        Math.exp(Math.max(-240, Math.min(240, dy)) * 0.0022),
        Math.max(engine.left, place(event).x),
      );
    } else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
      event.preventDefault();
      engine.pan(Math.abs(dx) > Math.abs(dy) ? dx : dy);
    }
  };

  const double = (event: MouseEvent) => {
    const at = place(event);
    const hit = engine.hit(at.x, at.y);
    if (hit.pick) {
      engine.select(hit.pick);
      engine.fit();
    }
  };

  const scrolled = () => {
    events.point(null, 0, 0);
    engine.requestDraw();
  };

  const off = new AbortController();
  const { signal } = off;
  canvas.addEventListener('pointerdown', down, { signal });
  canvas.addEventListener('pointermove', move, { signal });
  canvas.addEventListener('pointerup', up, { signal });
  canvas.addEventListener('pointercancel', cancel, { signal });
  canvas.addEventListener('pointerleave', leave, { signal });
  canvas.addEventListener('dblclick', double, { signal });
  canvas.addEventListener('wheel', wheel, { signal, passive: false });
  scroller.addEventListener('scroll', scrolled, { signal, passive: true });
  return () => off.abort();
}

/** A step is marked by a click, and no longer by a second one. */
function markStep(engine: Engine, index: number): void {
  const step = engine.model.steps[index];
  if (!step) return;
  const marked = engine.span?.start === step.start_ns && engine.span.end === step.end_ns;
  engine.setSpan(marked ? null : { start: step.start_ns, end: step.end_ns });
}

/** The strip: a press brings the window there, a drag takes it along; on an empty stretch it marks a new window. */
export function listenMap(engine: Engine, canvas: HTMLCanvasElement): () => void {
  const off = new AbortController();
  const { signal } = off;
  let held: { from: number; offset: number | null } | null = null;
  const timeOf = (event: PointerEvent) => {
    return engine.map.timeAt(event.clientX - canvas.getBoundingClientRect().left);
  };
  const follow = (event: PointerEvent) => {
    if (!held) return;
    const time = timeOf(event);
    const { start, end } = engine.window;
    if (held.offset !== null) {
      engine.setWindow({ start: time - held.offset, end: time - held.offset + (end - start) });
    } else if (Math.abs(engine.map.timeAt(3)) < Math.abs(time - held.from)) {
      engine.setWindow({ start: Math.min(time, held.from), end: Math.max(time, held.from) });
    }
  };
  canvas.addEventListener(
    'pointerdown',
    (event) => {
      if (event.button !== 0) return;
      const time = timeOf(event);
      const { start, end } = engine.window;
      const whole = end - start >= engine.model.spanNs * 0.98;
      const inside = time >= start && time <= end && !whole && !event.shiftKey;
      held = { from: time, offset: inside ? time - start : null };
      canvas.setPointerCapture(event.pointerId);
    },
    { signal },
  );
  canvas.addEventListener('pointermove', follow, { signal });
  canvas.addEventListener(
    'pointerup',
    (event) => {
      if (
        held &&
        held.offset === null &&
        Math.abs(timeOf(event) - held.from) <= engine.map.timeAt(3)
      ) {
        const half = (engine.window.end - engine.window.start) / 2;
        engine.setWindow({ start: held.from - half, end: held.from + half });
      }
      held = null;
    },
    { signal },
  );
  canvas.addEventListener('pointercancel', () => (held = null), { signal });
  return () => off.abort();
}
