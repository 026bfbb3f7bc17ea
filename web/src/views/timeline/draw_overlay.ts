// SPDX-License-Identifier: Apache-2.0
// What lies over the lanes: selection, pointer, arrows, the marked span, the places of a finding.
import { boxesInView } from './draw_lanes.js';
import { edges, FONT, xOf, type Frame, type Selection } from './frame.js';
import { headerParts } from './draw_header.js';
import { laneOfRow } from './lanes.js';
import { BOX, GAPS, levelY, RULER } from './layout.js';
import type { Arrow } from './relations.js';
import { durationText } from './time_text.js';

/** Rectangle of a row on the canvas; null where its lane is hidden. */
export function rowRect(frame: Frame, row: number): { x: number; y: number; width: number } | null {
  const lane = laneOfRow(frame.model, row);
  const box = lane < 0 ? undefined : frame.layout.boxes[frame.layout.boxOfLane[lane]!];
  if (!box) return null;
  const { start, duration } = frame.model.rows;
  const x0 = Math.max(frame.left - 4, xOf(frame, start[row]!));
  const x1 = Math.min(frame.width + 4, xOf(frame, start[row]! + duration[row]!));
  const y = levelY(box, frame.model.level[row]!) + frame.top - frame.scrollTop;
  return { x: Math.round(x0), y, width: Math.max(2, Math.round(x1) - Math.round(x0)) };
}

/** The context must be clipped to the lanes. */
export function drawOverlay(frame: Frame): void {
  const { ctx, palette } = frame;
  for (const place of frame.places) {
    const [x, width] = edges(frame, place.start, place.end);
    if (place.end < frame.window.start || place.start > frame.window.end) continue;
    ctx.strokeStyle = palette.warn;
    ctx.lineWidth = 2;
    ctx.setLineDash([6, 3]);
    ctx.strokeRect(x, frame.top + 1, width, frame.height - frame.top - 2);
    ctx.setLineDash([]);
  }
  if (frame.hover?.type === 'row') strokeRow(frame, frame.hover.row, palette.text2, 1);
  for (const arrow of frame.arrows) drawArrow(frame, arrow);
  if (frame.selection?.type === 'row') strokeRow(frame, frame.selection.row, palette.text, 2);
}

function strokeRow(frame: Frame, row: number, ink: string, line: number): void {
  const rect = rowRect(frame, row);
  if (!rect || rect.x > frame.width || rect.x + rect.width < frame.left) return;
  const { ctx } = frame;
  if (line > 1) {
    // A ring of background keeps the frame readable on any colour.
    ctx.strokeStyle = frame.palette.background;
    ctx.lineWidth = line + 2;
    ctx.strokeRect(rect.x, rect.y, rect.width, BOX);
  }
  ctx.strokeStyle = ink;
  ctx.lineWidth = line;
  ctx.strokeRect(rect.x, rect.y, rect.width, BOX);
}

/** From a call to what it launched: solid; from a forward operator to its backward one: dashed. */
function drawArrow(frame: Frame, arrow: Arrow): void {
  const from = rowRect(frame, arrow.from);
  const to = rowRect(frame, arrow.to);
  if (!from || !to) return;
  const { ctx, palette } = frame;
  const down = to.y > from.y;
  const x0 = from.x + Math.min(from.width, 8) / 2;
  const y0 = down ? from.y + BOX : from.y;
  const x1 = to.x;
  const y1 = to.y + BOX / 2;
  if (Math.max(x0, x1) < frame.left || Math.min(x0, x1) > frame.width) return;
  const bend = Math.min(60, Math.max(14, Math.abs(x1 - x0) / 2));
  ctx.strokeStyle = palette.background;
  ctx.lineWidth = 3;
  const path = new Path2D();
  path.moveTo(x0, y0);
  path.bezierCurveTo(x0, y0 + (down ? bend : -bend), x1 - bend, y1, x1 - 1, y1);
  ctx.stroke(path);
  ctx.strokeStyle = ctx.fillStyle = palette.text;
  ctx.lineWidth = 1.25;
  ctx.setLineDash(arrow.kind === 'backward' ? [5, 3] : []);
  ctx.stroke(path);
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x1 - 7, y1 - 3.5);
  ctx.lineTo(x1 - 7, y1 + 3.5);
  ctx.fill();
}

/** Over head and lanes: the span, a selected gap. */
export function drawSpan(frame: Frame): void {
  const { ctx, palette, span } = frame;
  ctx.font = `11px ${FONT}`;
  ctx.textBaseline = 'middle';
  drawGapFrame(frame, frame.hover, 1);
  drawGapFrame(frame, frame.selection, 2);
  if (!span || span.end < frame.window.start || span.start > frame.window.end) return;
  const [x, width] = edges(frame, span.start, span.end);
  ctx.fillStyle = palette.accent;
  ctx.globalAlpha = 0.12;
  ctx.fillRect(x, RULER, width, frame.height - RULER);
  ctx.globalAlpha = 1;
  ctx.fillRect(x, 0, 1, frame.height);
  ctx.fillRect(x + width - 1, 0, 1, frame.height);
  const text = durationText(span.end - span.start);
  const room = ctx.measureText(text).width + 10;
  const at = Math.min(Math.max(x + width / 2 - room / 2, frame.left), frame.width - room);
  ctx.fillRect(x, RULER - 4, width, 2);
  ctx.fillRect(at, 2, room, RULER - 6);
  ctx.fillStyle = palette.background;
  ctx.fillText(text, at + 5, RULER / 2 - 1);
}

function drawGapFrame(frame: Frame, picked: Selection, line: number): void {
  if (picked?.type !== 'gap') return;
  const { ctx, model, palette } = frame;
  const parts = headerParts(model.steps.length > 0, true);
  const start = model.rows.gaps.start[picked.gap]!;
  const end = start + model.rows.gaps.duration[picked.gap]!;
  if (end < frame.window.start || start > frame.window.end) return;
  const [x, width] = edges(frame, start, end);
  ctx.strokeStyle = palette.text;
  ctx.lineWidth = line;
  ctx.strokeRect(x, parts.gaps + 1, Math.max(2, width), GAPS - 3);
  if (line < 2) return;
  // The stretch in all lanes: what did the host do meanwhile?
  ctx.setLineDash([3, 3]);
  ctx.lineWidth = 1;
  for (const edge of [x + 0.5, x + width - 0.5]) {
    ctx.beginPath();
    ctx.moveTo(edge, parts.height);
    ctx.lineTo(edge, frame.height);
    ctx.stroke();
  }
  ctx.setLineDash([]);
}

/** For tests and for scrolling to a row: is its lane in view. */
export function isLaneInView(frame: Frame, lane: number): boolean {
  return boxesInView(frame).some((box) => box.lane === lane);
}
