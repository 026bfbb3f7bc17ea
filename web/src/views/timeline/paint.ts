// SPDX-License-Identifier: Apache-2.0
// One picture: ground, boxes, what lies over them, names, head.
import { drawGround, drawHeader } from './draw_header.js';
import { drawLaneNames, drawLanes } from './draw_lanes.js';
import { drawOverlay, drawSpan } from './draw_overlay.js';
import type { Frame } from './frame.js';

/** `scale`: device pixels to a CSS one. */
export function paint(frame: Frame, scale: number): void {
  const { ctx } = frame;
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.fillStyle = frame.palette.background;
  ctx.fillRect(0, 0, frame.width, frame.height);
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, frame.top, frame.width, frame.height - frame.top);
  ctx.clip();
  drawGround(frame);
  drawLanes(frame);
  drawOverlay(frame);
  drawLaneNames(frame);
  ctx.restore();
  drawHeader(frame);
  ctx.save();
  ctx.beginPath();
  ctx.rect(frame.left, 0, frame.width - frame.left, frame.height);
  ctx.clip();
  drawSpan(frame);
  ctx.restore();
}
