// SPDX-License-Identifier: Apache-2.0
// Boxes of the lanes that are in view.
import { Bins } from './bins.js';
import { edges, fitText, FONT, xOf, type Frame } from './frame.js';
import { BOX, firstBelow, levelY, type LaneBox } from './layout.js';
import { paintTrack, type Painter } from './lod.js';
import { colorIndex, FADED, SHADES } from './palette.js';
import { labelOf } from './time_text.js';

/** Rows narrower than this (CSS pixels) are shown by marks of this width. */
export const MARK = 2;
/** Narrower boxes carry no name. */
const LABEL = 26;

/** Fill of matches that are too narrow for a frame: the accent, which is no fill of the palette. */
const MATCH_FILL = 10_000;

class LanePainter implements Painter {
  private y = 0;
  constructor(
    private readonly frame: Frame,
    private readonly bins: Bins,
    private readonly framed: number[],
  ) {}

  at(y: number): this {
    this.y = y;
    return this;
  }

  box(position: number, start: number, end: number): void {
    const { frame } = this;
    const { rows, set, header } = frame.model;
    const row = set.row[position]!;
    const name = rows.name[row]!;
    const [x, wide] = edges(frame, start, end);
    const color = colorIndex(rows.kind[row]!, frame.variants[name]!);
    const left = frame.matches !== null && frame.matches.byName[name] === 0;
    // A pixel of background between two boxes, where there is room for it.
    const width = wide > 3 ? wide - 1 : wide;
    const match = frame.matches !== null && !left;
    if (match && width < 5) {
      this.bins.box(MATCH_FILL, x, this.y, Math.max(2, width), BOX);
      return;
    }
    this.bins.box(color * SHADES + (left ? FADED : 0), x, this.y, width, BOX);
    if (match) this.framed.push(x, this.y, width);
    if (width < LABEL) return;
    const text = fitText(frame.ctx, labelOf(header.strings[name]!), width - 7);
    const ink = left ? frame.palette.text3 : frame.palette.inks[color]!;
    if (text) this.bins.label(text, x + 4, this.y + BOX / 2 + 0.5, ink);
  }

  mark(start: number, longest: number, covered: number, from: number, to: number): void {
    const { frame } = this;
    const { rows, set } = frame.model;
    const x = Math.max(frame.left, Math.round(xOf(frame, start)));
    const row = set.row[longest]!;
    const color = colorIndex(rows.kind[row]!, frame.variants[rows.name[row]!]!);
    const { matches } = frame;
    if (matches && matches.before[to]! > matches.before[from]!) {
      this.bins.box(MATCH_FILL, x, this.y, MARK, BOX);
      return;
    }
    const shade = matches ? FADED : covered > 0.66 ? 0 : covered > 0.33 ? 1 : 2;
    this.bins.box(color * SHADES + shade, x, this.y, MARK, BOX);
  }
}

/** Kept between pictures: its arrays grow once. */
const bins = new Bins();

/** The context must be clipped to the lanes. Cost: pixels in view x log(rows). */
export function drawLanes(frame: Frame): void {
  const { ctx, model, palette, window } = frame;
  ctx.font = `11px ${FONT}`;
  ctx.textBaseline = 'middle';
  ctx.textAlign = 'left';
  const framed: number[] = [];
  const painter = new LanePainter(frame, bins, framed);
  const bucket = frame.nsPerPixel * MARK;
  const shift = frame.top - frame.scrollTop;
  for (const box of boxesInView(frame)) {
    ctx.fillStyle = palette.softLine;
    ctx.fillRect(0, box.y + box.height + shift - 1, frame.width, 1);
    for (let level = 0; level < box.levels; ++level) {
      const y = levelY(box, level) + shift;
      if (y + BOX < frame.top || y > frame.height) continue;
      const track = model.set.tracks[model.firstTrack[box.lane]! + level]!;
      paintTrack(model.set, track, window.start, window.end, bucket, painter.at(y));
    }
  }
  bins.flush(ctx, palette);
  ctx.strokeStyle = palette.accent;
  ctx.lineWidth = 1.5;
  for (let i = 0; i < framed.length; i += 3) {
    ctx.strokeRect(framed[i]! + 0.75, framed[i + 1]! + 0.75, framed[i + 2]! - 1.5, BOX - 1.5);
  }
}

export function boxesInView(frame: Frame): LaneBox[] {
  const { layout } = frame;
  const found: LaneBox[] = [];
  for (let i = firstBelow(layout, frame.scrollTop); i < layout.boxes.length; ++i) {
    const box = layout.boxes[i]!;
    if (box.y - frame.scrollTop + frame.top > frame.height) break;
    found.push(box);
  }
  return found;
}

/** Names of the lanes: in the gutter, or above the boxes where there is none. */
export function drawLaneNames(frame: Frame): void {
  const { ctx, palette, model } = frame;
  const shift = frame.top - frame.scrollTop;
  if (frame.left > 0) {
    ctx.fillStyle = palette.raised;
    ctx.fillRect(0, frame.top, frame.left, frame.height - frame.top);
    ctx.fillStyle = palette.line;
    ctx.fillRect(frame.left - 1, frame.top, 1, frame.height - frame.top);
  }
  ctx.textBaseline = 'middle';
  for (const box of boxesInView(frame)) {
    const lane = model.lanes[box.lane]!;
    const top = box.y + shift;
    const room = (frame.left > 0 ? frame.left : frame.width) - 24;
    // The name stays in view while a tall lane is scrolled through.
    const y = box.title > 0 ? top + 4 + box.title / 2 : nameY(top, box.height, frame.top) + 13;
    ctx.fillStyle = palette.softLine;
    if (frame.left > 0) ctx.fillRect(0, top + box.height - 1, frame.left, 1);
    drawChevron(ctx, 8, y, box.closed, palette.text2);
    ctx.fillStyle = palette.text;
    ctx.font = `600 11px ${FONT}`;
    ctx.fillText(cut(ctx, laneTitle(lane), room), 20, y);
    const second = laneSecond(lane);
    if (frame.left > 0 && box.height >= 40 && second) {
      ctx.fillStyle = palette.text3;
      ctx.font = `10px ${FONT}`;
      if (y + 18 < top + box.height) ctx.fillText(cut(ctx, second, room), 20, y + 14);
    }
  }
}

function nameY(top: number, height: number, from: number): number {
  return Math.min(Math.max(top, from), top + height - 26);
}

export function laneTitle(lane: { kind: string; name: string; device: number | null }): string {
  if (lane.kind === 'stream' && lane.device !== null) return `GPU ${lane.device} · ${lane.name}`;
  return lane.name;
}

function laneSecond(lane: { process: string | number | null }): string {
  return lane.process === null ? '' : String(lane.process);
}

function cut(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  const { width } = ctx.measureText(text);
  if (width <= room) return text;
  return `${text.slice(0, Math.max(1, Math.floor((room / width) * text.length) - 2))}…`;
}

function drawChevron(
  ctx: CanvasRenderingContext2D,
  x: number,
  y: number,
  closed: boolean,
  ink: string,
): void {
  ctx.fillStyle = ink;
  ctx.beginPath();
  if (closed) {
    ctx.moveTo(x, y - 4);
    ctx.lineTo(x + 6, y);
    ctx.lineTo(x, y + 4);
  } else {
    ctx.moveTo(x - 1, y - 3);
    ctx.lineTo(x + 7, y - 3);
    ctx.lineTo(x + 3, y + 3);
  }
  ctx.fill();
}
