// SPDX-License-Identifier: Apache-2.0
// The head of the timeline: ruler, steps, idle gaps. It does not scroll.
import { edges, fitText, FONT, xOf, type Frame } from './frame.js';
import { GAPS, RULER, STEPS } from './layout.js';
import { MARK } from './draw_lanes.js';
import { paintTrack } from './lod.js';
import { lowerBound } from './tracks.js';
import { durationText, ticksFor } from './time_text.js';

export interface HeaderParts {
  steps: number;
  gaps: number;
  height: number;
}

/** Where the parts begin; a report without steps or gaps gives their room to the lanes. */
export function headerParts(hasSteps: boolean, hasGaps: boolean): HeaderParts {
  const gaps = RULER + (hasSteps ? STEPS : 0);
  return { steps: RULER, gaps, height: gaps + (hasGaps ? GAPS : 0) + 1 };
}

export function drawHeader(frame: Frame): void {
  const { ctx, palette, model } = frame;
  const parts = headerParts(model.steps.length > 0, model.gapSet.row.length > 0);
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, 0, frame.width, parts.height);
  ctx.clip();
  ctx.fillStyle = palette.background;
  ctx.fillRect(0, 0, frame.width, parts.height);
  ctx.textBaseline = 'middle';
  ctx.font = `11px ${FONT}`;
  drawRuler(frame);
  if (model.steps.length > 0) drawSteps(frame, parts.steps);
  if (model.gapSet.row.length > 0) drawGaps(frame, parts.gaps);
  drawNames(frame, parts);
  ctx.fillStyle = palette.line;
  ctx.fillRect(0, parts.height - 1, frame.width, 1);
  ctx.restore();
}

function drawRuler(frame: Frame): void {
  const { ctx, palette, window } = frame;
  const ticks = ticksFor(window.start, window.end, (frame.width - frame.left) / 110);
  ctx.fillStyle = palette.text2;
  for (let i = 0; ; ++i) {
    const time = ticks.first + i * ticks.step;
    if (time > window.end || i > 1000) break;
    const x = Math.round(xOf(frame, time));
    ctx.fillRect(x, RULER - 6, 1, 6);
    ctx.fillText(ticks.text(time), x + 4, RULER / 2);
  }
}

function drawSteps(frame: Frame, y: number): void {
  const { ctx, palette, model } = frame;
  let drawnTo = -1;
  for (const step of model.steps) {
    if (step.end_ns < frame.window.start || step.start_ns > frame.window.end) continue;
    const [x, width] = edges(frame, step.start_ns, step.end_ns);
    if (x + width <= drawnTo) continue; // many steps on one pixel
    drawnTo = x + width;
    ctx.fillStyle = step.warm_up ? palette.sunk : palette.accentSoft;
    ctx.fillRect(x, y + 1, Math.max(1, width - 1), STEPS - 3);
    ctx.fillStyle = palette.accent;
    ctx.fillRect(x, y + 1, 1, STEPS - 3);
    if (width < 30) continue;
    const length = durationText(step.end_ns - step.start_ns);
    const words = `${step.name}${step.warm_up ? ' (warm-up)' : ''} · ${length}`;
    ctx.fillStyle = palette.text;
    const text = fitText(ctx, words, width - 8);
    if (text) ctx.fillText(text, x + 5, y + STEPS / 2);
  }
}

function drawGaps(frame: Frame, y: number): void {
  const { ctx, palette, model, window } = frame;
  const bucket = frame.nsPerPixel * MARK;
  // Many short gaps on one mark: its height is the share of time that is idle, as a bar.
  const draw = (position: number, x: number, width: number, covered = 1) => {
    const gap = model.gapSet.row[position]!;
    const cause = model.gapCauses[model.rows.gaps.cause[gap]!]!;
    ctx.fillStyle = frame.patterns.get(cause.id) ?? palette.cause(cause.id);
    const tall = covered < 1 ? Math.max(2, Math.round(covered * (GAPS - 3))) : GAPS - 3;
    ctx.fillRect(x, y + GAPS - 2 - tall, width, tall);
    if (width < 5) return;
    ctx.strokeStyle = palette.cause(cause.id);
    ctx.lineWidth = 1;
    ctx.strokeRect(x + 0.5, y + 1.5, width - 1, GAPS - 4);
    if (width < 34) return;
    const words = `${cause.text} · ${durationText(model.rows.gaps.duration[gap]!)}`;
    const text = fitText(ctx, words, width - 12);
    if (!text) return;
    // The hatch would run through the letters.
    ctx.fillStyle = palette.background;
    ctx.fillRect(x + 3, y + 3, Math.min(width - 6, ctx.measureText(text).width + 6), GAPS - 7);
    ctx.fillStyle = palette.text;
    ctx.fillText(text, x + 6, y + GAPS / 2);
  };
  paintTrack(model.gapSet, model.gapSet.tracks[0]!, window.start, window.end, bucket, {
    box: (position, start, end) =>
      draw(position, ...edges(frame, start, end), Math.min(1, (end - start) / bucket)),
    mark: (start, longest, covered) =>
      draw(longest, Math.max(frame.left, Math.round(xOf(frame, start))), MARK, covered),
  });
}

function drawNames(frame: Frame, parts: HeaderParts): void {
  const { ctx, palette, model } = frame;
  if (frame.left === 0) return;
  ctx.fillStyle = palette.raised;
  ctx.fillRect(0, 0, frame.left, parts.height);
  ctx.fillStyle = palette.line;
  ctx.fillRect(frame.left - 1, 0, 1, parts.height);
  ctx.fillStyle = palette.text2;
  ctx.fillText('time', 20, RULER / 2);
  if (model.steps.length > 0) ctx.fillText('steps', 20, parts.steps + STEPS / 2);
  if (model.gapSet.row.length > 0) {
    ctx.fillText(`GPU ${model.gapDevice} idle, by cause`, 20, parts.gaps + GAPS / 2);
  }
}

/** Behind the lanes: where steps begin, and where the main device is idle (a faint hatch in its lanes). */
export function drawGround(frame: Frame): void {
  const { ctx, palette, model, window } = frame;
  const shift = frame.top - frame.scrollTop;
  const streams = frame.layout.boxes.filter((box) => {
    const lane = model.lanes[box.lane]!;
    return lane.kind === 'stream' && lane.device === model.gapDevice;
  });
  const first = streams[0];
  const last = streams[streams.length - 1];
  if (first && last && model.gapSet.row.length > 0) {
    const y = first.y + shift;
    const height = last.y + last.height - first.y;
    const fill = (position: number, x: number, width: number) => {
      const cause = model.rows.gaps.cause[model.gapSet.row[position]!]!;
      ctx.fillStyle = frame.patterns.get(`faint ${model.gapCauses[cause]!.id}`) ?? palette.sunk;
      ctx.fillRect(x, y, width, height);
    };
    // Only gaps that can be seen as such: a mark would say that a busy stretch is idle.
    const bucket = frame.nsPerPixel * 3;
    paintTrack(model.gapSet, model.gapSet.tracks[0]!, window.start, window.end, bucket, {
      box: (position, start, end) => {
        if (end - start >= bucket) fill(position, ...edges(frame, start, end));
      },
      mark: () => undefined,
    });
  }
  ctx.fillStyle = palette.line;
  let at = lowerBound(
    model.steps.map((step) => step.start_ns),
    0,
    model.steps.length,
    window.start,
  );
  let lastX = -10;
  for (; at < model.steps.length && model.steps[at]!.start_ns <= window.end; ++at) {
    const x = Math.round(xOf(frame, model.steps[at]!.start_ns));
    if (x < lastX + 4) continue;
    lastX = x;
    ctx.fillRect(x, frame.top, 1, frame.height - frame.top);
  }
}
