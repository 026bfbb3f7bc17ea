// SPDX-License-Identifier: Apache-2.0
/** How rows hang together: what encloses a row, what launched it, what it launched. */
import { KIND_DEVICE, KIND_OPERATOR, NO_ROW } from '../../model/rows.js';
import { laneOfRow, rowAt, type Model } from './lanes.js';
import { lowerBound } from './tracks.js';

/** Rows that enclose `row` in its lane, nearest first. A binary search for each level. */
export function enclosing(model: Model, row: number): number[] {
  const lane = laneOfRow(model, row);
  const { start, duration } = model.rows;
  const found: number[] = [];
  if (lane < 0) return found;
  const end = start[row]! + duration[row]!;
  for (let level = model.level[row]! - 1; level >= 0; --level) {
    const outer = rowAt(model, lane, level, start[row]!, 0);
    if (outer >= 0 && outer !== row && start[outer]! + duration[outer]! >= end) found.push(outer);
  }
  return found;
}

/** Is `inner`, a row of the same lane that does not begin before `row`, inside it? */
function isInside(model: Model, inner: number, row: number): boolean {
  const { start, duration } = model.rows;
  if (model.level[inner]! <= model.level[row]!) return false;
  return start[inner]! + duration[inner]! <= start[row]! + duration[row]!;
}

/** The rows of its lane that `row` encloses are among (row, end): those that begin before it ends. */
export function endOfInner(model: Model, row: number): number {
  const lane = laneOfRow(model, row);
  if (lane < 0) return row + 1;
  const { start, duration } = model.rows;
  const end = start[row]! + duration[row]!;
  return Math.max(row + 1, lowerBound(start, row + 1, model.lanes[lane]!.last, end));
}

/** The first row inside; -1 if there is none. */
export function firstInside(model: Model, row: number): number {
  const end = endOfInner(model, row);
  for (let inner = row + 1; inner < end; ++inner) {
    if (isInside(model, inner, row)) return inner;
  }
  return -1;
}

export interface Relations {
  /** The call that launched it (device rows), or null. */
  launchedBy: number | null;
  /** The nearest operator around the launching call, or around the row itself. */
  operator: number | null;
  forward: number | null;
  backward: number[];
  /** Device rows launched by the row or by what it encloses, in row order. */
  launched: number[];
  launchedCount: number;
  launchedNs: number;
}

/** More arrows than this make a picture black; the count is said in words. */
export const MOST_ARROWS = 200;

/** One pass over the rows (about a millisecond for a million). */
export function relationsOf(model: Model, row: number): Relations {
  const { rows } = model;
  const device = rows.kind[row]! >= KIND_DEVICE;
  const cause = rows.cause[row]! === NO_ROW ? null : rows.cause[row]!;
  const launchedBy = device ? cause : null;
  const around = launchedBy === null ? row : launchedBy;
  const chain =
    launchedBy === null ? enclosing(model, around) : [around, ...enclosing(model, around)];
  const operator = chain.find((outer) => rows.kind[outer] === KIND_OPERATOR) ?? null;
  const found: Relations = {
    launchedBy,
    operator,
    forward: device ? null : cause,
    backward: [],
    launched: [],
    launchedCount: 0,
    launchedNs: 0,
  };
  if (device) return found;
  const end = endOfInner(model, row);
  for (let other = 0; other < rows.count; ++other) {
    const by = rows.cause[other]!;
    if (by < row || by >= end || (by !== row && !isInside(model, by, row))) continue;
    if (rows.kind[other]! >= KIND_DEVICE) {
      ++found.launchedCount;
      found.launchedNs += rows.duration[other]!;
      if (found.launched.length < MOST_ARROWS) found.launched.push(other);
    } else if (by === row && found.backward.length < MOST_ARROWS) {
      found.backward.push(other);
    }
  }
  return found;
}

export interface Arrow {
  from: number;
  to: number;
  kind: 'launch' | 'backward';
}

/** From call to device work, from forward to backward operator. */
export function arrowsOf(model: Model, row: number, found: Relations): Arrow[] {
  const arrows: Arrow[] = [];
  if (found.launchedBy !== null) arrows.push({ from: found.launchedBy, to: row, kind: 'launch' });
  if (found.forward !== null) arrows.push({ from: found.forward, to: row, kind: 'backward' });
  for (const other of found.backward) arrows.push({ from: row, to: other, kind: 'backward' });
  for (const other of found.launched)
    arrows.push({ from: model.rows.cause[other]!, to: other, kind: 'launch' });
  return arrows;
}
