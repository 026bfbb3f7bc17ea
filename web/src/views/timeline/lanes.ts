// SPDX-License-Identifier: Apache-2.0
/** What the timeline knows of a report: rows, their tracks by lane and level, and where each stands. */
import type { Lane, PageStep, PageTimeline } from '../../model/page.js';
import { KIND_DEVICE, type Rows } from '../../model/rows.js';
import { placeRows } from './levels.js';
import { buildTracks, firstSeen, lowerBound, type TrackSet } from './tracks.js';

export interface Model {
  header: PageTimeline;
  rows: Rows;
  steps: PageStep[];
  spanNs: number;
  lanes: Lane[];
  /** By row: its level in its lane (levels.ts). */
  level: Uint16Array;
  /** Tracks of lane i: firstTrack[i] + level, up to firstTrack[i + 1]. */
  firstTrack: number[];
  set: TrackSet;
  gapSet: TrackSet;
  gapCauses: { id: string; text: string }[];
  /** Device whose gaps are shown; null where the report has none. */
  gapDevice: number | null;
  gapsAbsent: string | null;
}

/** Linear in the rows. */
export function buildModel(
  header: PageTimeline,
  rows: Rows,
  steps: PageStep[],
  spanNs: number,
): Model {
  const lanes = header.lanes;
  const trackOfRow = new Int32Array(rows.count).fill(-1);
  const level = new Uint16Array(rows.count);
  const firstTrack: number[] = [];
  let tracks = 0;
  for (const lane of lanes) {
    firstTrack.push(tracks);
    let levels = placeRows(rows.start, rows.duration, lane.first, lane.last, level);
    if (levels === 0) levels = takeDepths(rows, lane, level);
    for (let row = lane.first; row < lane.last; ++row) trackOfRow[row] = tracks + level[row]!;
    tracks += levels;
  }
  firstTrack.push(tracks);
  const { gaps } = rows;
  const present = 'causes' in header.gaps ? header.gaps : null;
  let end = spanNs;
  for (let row = 0; row < rows.count; ++row)
    end = Math.max(end, rows.start[row]! + rows.duration[row]!);
  return {
    header,
    rows,
    steps,
    spanNs: Math.max(1, end),
    lanes,
    level,
    firstTrack,
    set: buildTracks(rows.count, tracks, rows.start, rows.duration, (row) => trackOfRow[row]!),
    gapSet: buildTracks(gaps.count, 1, gaps.start, gaps.duration, () => 0),
    gapCauses: present ? present.causes : [],
    gapDevice: present ? present.device : null,
    gapsAbsent: 'absent' in header.gaps ? header.gaps.absent : null,
  };
}

/** Levels as the report has them; returns how many. */
function takeDepths(rows: Rows, lane: Lane, level: Uint16Array): number {
  let levels = 1;
  for (let row = lane.first; row < lane.last; ++row) {
    level[row] = rows.depth[row]!;
    levels = Math.max(levels, level[row]! + 1);
  }
  return levels;
}

export function levelsOf(model: Model, lane: number): number {
  return model.firstTrack[lane + 1]! - model.firstTrack[lane]!;
}

/** Lane of a row; -1 where it stands in none. Lanes are in row order. */
export function laneOfRow(model: Model, row: number): number {
  let low = 0;
  let high = model.lanes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (model.lanes[middle]!.last <= row) low = middle + 1;
    else high = middle;
  }
  return low < model.lanes.length && model.lanes[low]!.first <= row ? low : -1;
}

/** Position of a row in its track's boxes; -1 for a row in no lane. */
export function positionOfRow(model: Model, row: number): number {
  const lane = laneOfRow(model, row);
  if (lane < 0) return -1;
  const track = model.set.tracks[model.firstTrack[lane]! + model.level[row]!]!;
  return lowerBound(model.set.row, track.from, track.to, row); // rows of a track ascend as well
}

/** The row of the lane's level that is shown at `time`, within `slack` ns; -1 if none. The nearest wins. */
export function rowAt(
  model: Model,
  lane: number,
  level: number,
  time: number,
  slack: number,
): number {
  const track = model.set.tracks[model.firstTrack[lane]! + level];
  return track ? boxAt(model.set, track, time, slack) : -1;
}

export function gapAt(model: Model, time: number, slack: number): number {
  return boxAt(model.gapSet, model.gapSet.tracks[0]!, time, slack);
}

function boxAt(
  set: TrackSet,
  track: TrackSet['tracks'][number],
  time: number,
  slack: number,
): number {
  const next = firstSeen(set, track, time);
  if (next < track.to && set.start[next]! <= time) return set.row[next]!;
  let best = -1;
  let distance = slack;
  for (const p of [next - 1, next]) {
    if (p < track.from || p >= track.to) continue;
    const d = Math.max(set.start[p]! - time, time - set.end[p]!);
    if (d < distance) {
      best = set.row[p]!;
      distance = d;
    }
  }
  return best;
}

export function isDevice(model: Model, row: number): boolean {
  return model.rows.kind[row]! >= KIND_DEVICE;
}

/** Index of the step a moment lies in; -1 outside of all. Steps may be few thousands: a plain search will do. */
export function stepAt(steps: PageStep[], time: number): number {
  return steps.findIndex((step) => step.start_ns <= time && time < step.end_ns);
}
