// SPDX-License-Identifier: Apache-2.0
// Steps of the selection by key: along a level, up and down the nesting, from gap to gap.
import type { Engine } from './engine.js';
import type { Selection } from './frame.js';
import { laneOfRow, positionOfRow } from './lanes.js';
import { enclosing, firstInside } from './relations.js';
import { firstSeen, lowerBound } from './tracks.js';

/** The first row in view of a lane's first level; where a walk begins. */
function firstOf(engine: Engine, boxIndex: number): Selection {
  const { model, layout, window } = engine;
  const box = layout.boxes[boxIndex];
  if (!box) return engine.selection;
  const track = model.set.tracks[model.firstTrack[box.lane]!]!;
  const position = firstSeen(model.set, track, window.start);
  const at = Math.min(position, track.to - 1);
  return at >= track.from ? { type: 'row', row: model.set.row[at]! } : engine.selection;
}

function along(engine: Engine, by: 1 | -1): Selection {
  const { model, selection } = engine;
  if (selection?.type === 'gap') return gap(engine, by);
  if (!selection) return firstOf(engine, 0);
  const lane = laneOfRow(model, selection.row);
  if (lane < 0) return selection;
  const track = model.set.tracks[model.firstTrack[lane]! + model.level[selection.row]!]!;
  const next = positionOfRow(model, selection.row) + by;
  if (next < track.from || next >= track.to) return selection;
  return { type: 'row', row: model.set.row[next]! };
}

function across(engine: Engine, by: 1 | -1): Selection {
  const { model, selection, layout } = engine;
  if (selection?.type !== 'row') return firstOf(engine, 0);
  const { row } = selection;
  if (by < 0) {
    const outer = enclosing(model, row)[0];
    if (outer !== undefined) return { type: 'row', row: outer };
  } else {
    const inner = firstInside(model, row);
    if (inner >= 0) return { type: 'row', row: inner };
  }
  // Nothing further this way in the lane: the one above or below.
  const box = layout.boxOfLane[laneOfRow(model, row)] ?? -1;
  return layout.boxes[box + by] ? firstOf(engine, box + by) : selection;
}

function gap(engine: Engine, by: 1 | -1): Selection {
  const { gapSet } = engine.model;
  const track = gapSet.tracks[0]!;
  if (track.to === 0) return engine.selection;
  const from = engine.extent(engine.selection)?.start ?? engine.window.start;
  let at = lowerBound(gapSet.start, 0, track.to, from);
  if (by < 0) --at;
  else if (engine.selection?.type === 'gap' && gapSet.row[at] === engine.selection.gap) ++at;
  at = Math.min(Math.max(at, 0), track.to - 1);
  return { type: 'gap', gap: gapSet.row[at]! };
}

function toggleLane(engine: Engine): void {
  if (engine.selection?.type !== 'row') return;
  const lane = laneOfRow(engine.model, engine.selection.row);
  if (lane >= 0) engine.toggleLane(lane);
}

export const neighbour = { along, across, gap, toggleLane };
