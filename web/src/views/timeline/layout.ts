// SPDX-License-Identifier: Apache-2.0
// Where lanes stand: pure arithmetic over the model, with what is closed and what is hidden.
import { levelsOf, type Model } from './lanes.js';

/** Pitch of levels and height of a box, CSS pixels. */
export const LEVEL = 18;
export const BOX = 17;
const PAD = 4;
const TITLE = 17;

export const RULER = 22;
export const STEPS = 19;
export const GAPS = 21;

export interface LaneBox {
  lane: number;
  /** From the top of the lanes, not of the canvas. */
  y: number;
  height: number;
  /** Height of the line with the lane's name above its boxes: 0 where names stand in the gutter. */
  title: number;
  levels: number;
  closed: boolean;
}

export interface Layout {
  boxes: LaneBox[];
  height: number;
  /** By lane: its index in boxes; -1 hidden. */
  boxOfLane: Int32Array;
}

/** Devices first: they are what a step waits for; then threads as the report has them. */
export function laneOrder(model: Model): number[] {
  const order = model.lanes.map((_, lane) => lane);
  const rank = (lane: number) => {
    const { kind, device } = model.lanes[lane]!;
    if (kind !== 'stream') return 2;
    return device === model.gapDevice ? 0 : 1;
  };
  return order.sort((a, b) => rank(a) - rank(b) || a - b);
}

/** Lanes that are closed at first: with many threads those after the first, so that the screen shows both sides. */
export function closedAtFirst(model: Model): Set<number> {
  const closed = new Set<number>();
  let threads = 0;
  for (const lane of laneOrder(model)) {
    if (model.lanes[lane]!.kind === 'thread' && ++threads > 2 && levelsOf(model, lane) > 1)
      closed.add(lane);
  }
  return closed;
}

export function layoutLanes(
  model: Model,
  closed: ReadonlySet<number>,
  shown: (lane: number) => boolean,
  namesInside: boolean,
): Layout {
  const boxes: LaneBox[] = [];
  const boxOfLane = new Int32Array(model.lanes.length).fill(-1);
  let y = 0;
  for (const lane of laneOrder(model)) {
    if (!shown(lane)) continue;
    const isClosed = closed.has(lane);
    const levels = isClosed ? 1 : levelsOf(model, lane);
    const title = namesInside ? TITLE : 0;
    const height = title + Math.max(levels * LEVEL, namesInside ? 0 : LEVEL) + PAD * 2;
    boxOfLane[lane] = boxes.length;
    boxes.push({ lane, y, height, title, levels, closed: isClosed });
    y += height;
  }
  return { boxes, height: y, boxOfLane };
}

/** Top of a level, from the top of the lanes; of a closed lane all levels stand on the first. */
export function levelY(box: LaneBox, level: number): number {
  return box.y + PAD + box.title + Math.min(level, box.levels - 1) * LEVEL;
}

/** First lane that reaches below y. */
export function firstBelow(layout: Layout, y: number): number {
  let low = 0;
  let high = layout.boxes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const box = layout.boxes[middle]!;
    if (box.y + box.height <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}

export interface LaneHit {
  box: LaneBox;
  /** -1: on the name or between the levels. */
  level: number;
}

export function hitLane(layout: Layout, y: number): LaneHit | null {
  const box = layout.boxes[firstBelow(layout, y)];
  if (!box || y < box.y) return null;
  const inside = y - box.y - PAD - box.title;
  const level = Math.floor(inside / LEVEL);
  const onBox = inside >= 0 && level < box.levels && inside - level * LEVEL < BOX;
  return { box, level: onBox ? level : -1 };
}
