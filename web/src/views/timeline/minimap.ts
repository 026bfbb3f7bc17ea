// SPDX-License-Identifier: Apache-2.0
// The strip of the whole recording: how busy the device is, steps, gaps,
// matches, and the window as a frame. Made once a size, theme or search; a frame is drawn over it.
import type { Model } from './lanes.js';
import type { Palette } from './palette.js';
import { laneOrder } from './layout.js';
import { coveredTime, longestBox, lowerBound } from './tracks.js';
import type { Matches } from './search.js';
import type { TimeWindow } from './window.js';

const GAP_LINE = 5;

export class Minimap {
  private base: HTMLCanvasElement | null = null;
  private palette: Palette | null = null;
  private scale = 1;
  private width = 100;
  private height = 40;
  private matches: Matches | null = null;

  constructor(
    private readonly model: Model,
    private readonly canvas: HTMLCanvasElement,
  ) {}

  resize(palette: Palette, scale: number): void {
    this.palette = palette;
    this.scale = scale;
    this.width = Math.max(10, this.canvas.clientWidth);
    this.height = Math.max(10, this.canvas.clientHeight);
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.base = null;
  }

  setMatches(matches: Matches | null): void {
    this.matches = matches;
    this.base = null;
  }

  timeAt(x: number): number {
    return (x / this.width) * this.model.spanNs;
  }

  draw(window: TimeWindow, span: TimeWindow | null): void {
    const ctx = this.canvas.getContext('2d');
    const { palette } = this;
    if (!ctx || !palette) return;
    this.base ??= this.drawBase(palette);
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, this.canvas.width, this.canvas.height);
    ctx.drawImage(this.base, 0, 0);
    ctx.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    const x = (time: number) => (time / this.model.spanNs) * this.width;
    const x0 = Math.max(0, x(window.start));
    const x1 = Math.max(x0 + 3, Math.min(this.width, x(window.end)));
    ctx.globalAlpha = 0.65;
    ctx.fillStyle = palette.sunk;
    ctx.fillRect(0, 0, x0, this.height);
    ctx.fillRect(x1, 0, this.width - x1, this.height);
    ctx.globalAlpha = 1;
    if (span) {
      ctx.fillStyle = palette.accent;
      ctx.fillRect(x(span.start), 0, Math.max(2, x(span.end) - x(span.start)), 3);
    }
    ctx.strokeStyle = palette.accent;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(x0 + 0.75, 0.75, Math.max(1.5, x1 - x0 - 1.5), this.height - 1.5);
  }

  private drawBase(palette: Palette): HTMLCanvasElement {
    const base = document.createElement('canvas');
    base.width = this.canvas.width;
    base.height = this.canvas.height;
    const ctx = base.getContext('2d');
    if (!ctx) return base;
    ctx.scale(this.scale, this.scale);
    ctx.fillStyle = palette.background;
    ctx.fillRect(0, 0, this.width, this.height);
    const { model } = this;
    const order = laneOrder(model);
    const streams = order.filter((lane) => model.lanes[lane]!.kind === 'stream');
    const device =
      model.gapDevice ?? (streams[0] === undefined ? null : model.lanes[streams[0]]!.device);
    const work = streams.filter((lane) => model.lanes[lane]!.device === device);
    // A trace without a device still has a thread to look at.
    const lanes = work.length > 0 ? work : order.slice(0, 1);
    this.drawBusy(ctx, lanes, palette.compute, 2, this.height - GAP_LINE - 3);
    this.drawGaps(ctx, palette);
    ctx.fillStyle = palette.line;
    for (const step of model.steps) {
      ctx.fillRect(Math.round((step.start_ns / model.spanNs) * this.width), 0, 1, this.height);
    }
    if (this.matches) this.drawMatches(ctx, palette, this.matches);
    return base;
  }

  /** A bar a pixel: the largest coverage among the lanes' first levels. */
  private drawBusy(
    ctx: CanvasRenderingContext2D,
    lanes: number[],
    ink: string,
    y: number,
    height: number,
  ): void {
    const { set, firstTrack, spanNs } = this.model;
    const pixel = spanNs / this.width;
    ctx.fillStyle = ink;
    for (let x = 0; x < this.width; ++x) {
      let busy = 0;
      for (const lane of lanes.slice(0, 16)) {
        const track = set.tracks[firstTrack[lane]!]!;
        busy = Math.max(busy, coveredTime(set, track, x * pixel, (x + 1) * pixel) / pixel);
      }
      const tall = Math.ceil(Math.min(1, busy) * height);
      if (tall > 0) ctx.fillRect(x, y + height - tall, 1, tall);
    }
  }

  private drawGaps(ctx: CanvasRenderingContext2D, palette: Palette): void {
    const { gapSet, gapCauses, rows, spanNs } = this.model;
    const track = gapSet.tracks[0]!;
    const pixel = spanNs / this.width;
    for (let x = 0; x < this.width; ++x) {
      if (coveredTime(gapSet, track, x * pixel, (x + 1) * pixel) < pixel / 2) continue;
      const from = Math.max(
        track.from,
        lowerBound(gapSet.start, track.from, track.to, x * pixel) - 1,
      );
      const to = Math.max(from + 1, lowerBound(gapSet.start, from, track.to, (x + 1) * pixel));
      const gap = gapSet.row[longestBox(gapSet, track, from, to)]!;
      ctx.fillStyle = palette.cause(gapCauses[rows.gaps.cause[gap]!]!.id);
      ctx.fillRect(x, this.height - GAP_LINE, 1, GAP_LINE);
    }
  }

  private drawMatches(ctx: CanvasRenderingContext2D, palette: Palette, matches: Matches): void {
    if (matches.count === 0) return;
    const { rows } = this.model;
    const hit = new Uint8Array(Math.ceil(this.width) + 1);
    const toX = this.width / this.model.spanNs;
    for (let row = 0; row < rows.count; ++row) {
      if (matches.byName[rows.name[row]!] === 1)
        hit[Math.max(0, Math.floor(rows.start[row]! * toX))] = 1;
    }
    ctx.fillStyle = palette.accent;
    hit.forEach((found, x) => {
      if (found) ctx.fillRect(x, 0, 1.5, this.height / 3);
    });
  }
}
