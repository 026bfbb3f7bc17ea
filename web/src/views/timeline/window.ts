// SPDX-License-Identifier: Apache-2.0
/** The window of time that is seen. Pure: every step gives a new window. */
export interface TimeWindow {
  start: number;
  end: number;
}

/** Closest zoom: a kernel takes about a microsecond, so 100 ns across the screen shows any gap. */
const SHORTEST_NS = 100;
/** Empty margin that may be seen beyond both ends, as a share of the window. */
const MARGIN = 0.05;

/** Keeps a window inside the recording (with a little margin) and within the zoom limits. */
export function clampWindow(window: TimeWindow, spanNs: number): TimeWindow {
  const shortest = Math.min(SHORTEST_NS, spanNs);
  const length = Math.min(Math.max(window.end - window.start, shortest), spanNs * (1 + 2 * MARGIN));
  if (!Number.isFinite(length)) return { start: 0, end: spanNs };
  const middle = (window.start + window.end) / 2;
  const margin = Math.min(length, spanNs) * MARGIN;
  const low = Math.min(-margin, spanNs + margin - length);
  const high = Math.max(-margin, spanNs + margin - length);
  const start = Math.min(Math.max(middle - length / 2, low), high);
  return { start, end: start + length };
}

/** Zooms so that the moment under the pointer stays where it is. factor < 1 goes closer. */
export function zoomWindow(
  window: TimeWindow,
  factor: number,
  around: number,
  spanNs: number,
): TimeWindow {
  const shortest = Math.min(SHORTEST_NS, spanNs);
  const length = window.end - window.start;
  const wanted = Math.min(Math.max(length * factor, shortest), spanNs * (1 + 2 * MARGIN));
  const share = (around - window.start) / length;
  const start = around - share * wanted;
  return clampWindow({ start, end: start + wanted }, spanNs);
}

export function panWindow(window: TimeWindow, byNs: number, spanNs: number): TimeWindow {
  return clampWindow({ start: window.start + byNs, end: window.end + byNs }, spanNs);
}

/** A window that shows [start, end] with some room on both sides; a point gets what is around it. */
export function windowAround(start: number, end: number, spanNs: number): TimeWindow {
  const room = Math.max((end - start) * 0.15, SHORTEST_NS);
  return clampWindow({ start: start - room, end: end + room }, spanNs);
}

/** Moves the window only if [start, end] is not seen in it. */
export function reveal(window: TimeWindow, start: number, end: number, spanNs: number): TimeWindow {
  const length = window.end - window.start;
  // A pixel or two of it must be seen.
  const edge = length * 0.002;
  if (end >= window.start + edge && start <= window.end - edge) return window;
  if (end - start > length) return windowAround(start, end, spanNs);
  const middle = (start + end) / 2;
  return clampWindow({ start: middle - length / 2, end: middle + length / 2 }, spanNs);
}
