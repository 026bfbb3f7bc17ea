// SPDX-License-Identifier: Apache-2.0
// The icicle on a canvas: what is narrower than a mark is summed up, as in the timeline.
import { Bins } from '../timeline/bins.js';
import { fitText, FONT } from '../timeline/frame.js';
import { paintTrack } from '../timeline/lod.js';
import { colorIndex, FADED, SHADES, type Palette } from '../timeline/palette.js';
import { labelOf } from '../timeline/time_text.js';
import type { Found, Icicle } from './tree.js';

export const PITCH = 20;
const BOX = 19;
const MARK = 2;
const LABEL = 24;
/** Fill of matches that are too narrow for a frame. */
const MATCH_FILL = 10_000;

export interface FlameFrame {
  ctx: CanvasRenderingContext2D;
  icicle: Icicle;
  strings: string[];
  palette: Palette;
  variants: Uint8Array;
  /** Row kind whose colour the tree has. */
  kind: number;
  width: number;
  height: number;
  scrollTop: number;
  from: number;
  to: number;
  found: Found | null;
  selected: number;
  hover: number;
  focus: number;
}

const bins = new Bins();

export function drawFlame(frame: FlameFrame): void {
  const { ctx, icicle, palette, width, from, to, found } = frame;
  const perPixel = (to - from) / width;
  const { tree, set, order } = icicle;
  const x = (at: number) => (at - from) / perPixel;
  const framed: number[] = [];
  ctx.fillStyle = palette.background;
  ctx.fillRect(0, 0, width, frame.height);
  ctx.font = `11px ${FONT}`;
  ctx.textBaseline = 'middle';
  const first = Math.max(0, Math.floor(frame.scrollTop / PITCH));
  const last = Math.min(icicle.levels, Math.ceil((frame.scrollTop + frame.height) / PITCH));
  const focusDepth = frame.focus < 0 ? -1 : icicle.depth[frame.focus]!;
  for (let level = first; level < last; ++level) {
    const y = level * PITCH - frame.scrollTop;
    const above = level < focusDepth;
    paintTrack(set, set.tracks[level]!, from, to, perPixel * MARK, {
      box: (position, start, end) => {
        const node = order[set.row[position]!]!;
        const x0 = Math.max(0, Math.round(x(start)));
        const x1 = Math.min(width, Math.round(x(end)));
        const wide = Math.max(1, x1 - x0);
        const color = colorIndex(frame.kind, frame.variants[tree.name[node]!]!);
        const match = found !== null && found.match[node] === 1;
        const faded = above || (found !== null && !match);
        const drawn = wide > 3 ? wide - 1 : wide;
        if (match && drawn < 5) {
          bins.box(MATCH_FILL, x0, y, Math.max(2, drawn), BOX);
          return;
        }
        bins.box(color * SHADES + (faded ? FADED : 0), x0, y, drawn, BOX);
        if (match) framed.push(x0, y, drawn);
        if (drawn < LABEL) return;
        const text = fitText(ctx, labelOf(frame.strings[tree.name[node]!]!), drawn - 8);
        const ink = faded ? palette.text : palette.inks[color]!;
        if (text) bins.label(text, x0 + 4, y + BOX / 2 + 0.5, ink);
      },
      mark: (start, longest, covered, p, q) => {
        const node = order[set.row[longest]!]!;
        const color = colorIndex(frame.kind, frame.variants[tree.name[node]!]!);
        let matched = false;
        if (found)
          for (let i = p; i < q && !matched; ++i) matched = found.match[order[set.row[i]!]!] === 1;
        const shade = found ? FADED : covered > 0.66 ? 0 : covered > 0.33 ? 1 : 2;
        bins.box(matched ? MATCH_FILL : color * SHADES + shade, Math.round(x(start)), y, MARK, BOX);
      },
    });
  }
  bins.flush(ctx, palette);
  ctx.strokeStyle = palette.accent;
  ctx.lineWidth = 1.5;
  for (let i = 0; i < framed.length; i += 3) {
    ctx.strokeRect(framed[i]! + 0.75, framed[i + 1]! + 0.75, framed[i + 2]! - 1.5, BOX - 1.5);
  }
  outline(frame, frame.hover, palette.text2, 1);
  outline(frame, frame.selected, palette.text, 2);
}

function outline(frame: FlameFrame, node: number, ink: string, line: number): void {
  if (node < 0) return;
  const { icicle, ctx, from, to, width } = frame;
  const scale = width / (to - from);
  const x0 = Math.max(1, (icicle.start[node]! - from) * scale);
  const x1 = Math.min(width - 1, (icicle.start[node]! + icicle.total[node]! - from) * scale);
  if (x1 < 0 || x0 > width) return;
  ctx.strokeStyle = ink;
  ctx.lineWidth = line;
  const y = icicle.depth[node]! * PITCH - frame.scrollTop;
  ctx.strokeRect(Math.round(x0), y + line / 2, Math.max(2, Math.round(x1 - x0) - 1), BOX - line);
}
