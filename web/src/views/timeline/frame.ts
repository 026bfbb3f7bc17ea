// SPDX-License-Identifier: Apache-2.0
// What one picture of the timeline is drawn from.
import type { Layout } from './layout.js';
import type { Model } from './lanes.js';
import type { Palette } from './palette.js';
import type { Arrow } from './relations.js';
import type { Matches } from './search.js';
import type { TimeWindow } from './window.js';

export type Selection = { type: 'row'; row: number } | { type: 'gap'; gap: number } | null;

export interface Frame {
  ctx: CanvasRenderingContext2D;
  model: Model;
  palette: Palette;
  patterns: Map<string, CanvasPattern | string>;
  variants: Uint8Array;
  layout: Layout;
  window: TimeWindow;
  /** CSS pixels: whole canvas, where time begins, and where the lanes begin. */
  width: number;
  height: number;
  left: number;
  top: number;
  scrollTop: number;
  nsPerPixel: number;
  matches: Matches | null;
  selection: Selection;
  hover: Selection;
  arrows: Arrow[];
  span: TimeWindow | null;
  places: TimeWindow[];
}

export const FONT =
  'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';

export function xOf(frame: Frame, time: number): number {
  return frame.left + (time - frame.window.start) / frame.nsPerPixel;
}

/** Pixel edges of [start, end): whole pixels, at least one wide, cut at the edges of the picture. */
export function edges(frame: Frame, start: number, end: number): [left: number, width: number] {
  const x0 = Math.max(frame.left, Math.round(xOf(frame, start)));
  const x1 = Math.min(frame.width, Math.round(xOf(frame, end)));
  return [x0, Math.max(1, x1 - x0)];
}

const widths = new Map<string, number>();

function widthOf(ctx: CanvasRenderingContext2D, text: string): number {
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > 50_000) widths.clear();
    width = ctx.measureText(text).width;
    widths.set(text, width);
  }
  return width;
}

/**
 * Text of at most `room` pixels: where the whole does not fit, without its namespace, then cut with
 * an ellipsis; '' where nothing readable fits. Assumes one font for all callers.
 */
export function fitText(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  if (widthOf(ctx, text) <= room) return text;
  const bare = text.replace(/^(aten::|evaluate |void )/, '');
  const width = widthOf(ctx, bare);
  if (width <= room) return bare;
  // Letters are not equally wide: a tenth is kept in hand.
  const letters = Math.floor(((room * 0.9 - 8) / width) * bare.length);
  return letters >= 2 ? `${bare.slice(0, letters)}…` : '';
}
