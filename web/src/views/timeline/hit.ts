// SPDX-License-Identifier: Apache-2.0
// What a point of the canvas shows.
import { MARK } from './draw_lanes.js';
import type { HeaderParts } from './draw_header.js';
import type { Selection } from './frame.js';
import { gapAt, rowAt, stepAt, type Model } from './lanes.js';
import { hitLane, type Layout } from './layout.js';

export type Area = 'head' | 'steps' | 'gaps' | 'names' | 'lanes';

export interface Hit {
  area: Area;
  lane: number;
  pick: Selection;
  /** Of area 'steps': its index. */
  step?: number;
}

/** What a hit needs of the engine. */
interface Shown {
  model: Model;
  layout: Layout;
  left: number;
  top: number;
  head: HeaderParts;
  nsPerPixel: number;
  timeAt: (x: number) => number;
}

/** x, y: CSS pixels of the canvas. A row within a mark and a half of the point counts as hit. */
export function hitAt(shown: Shown, x: number, y: number, scrollTop: number): Hit {
  const { model, layout, left, top } = shown;
  const time = shown.timeAt(x);
  const slack = shown.nsPerPixel * MARK * 1.5;
  if (y < top)
    return x < left ? { area: 'head', lane: -1, pick: null } : hitHead(shown, time, y, slack);
  const at = y - top + scrollTop;
  const found = hitLane(layout, at);
  if (!found) return { area: 'lanes', lane: -1, pick: null };
  const { box, level } = found;
  const onName = left > 0 ? x < left : level < 0 && at - box.y < box.title + 4;
  if (onName) return { area: 'names', lane: box.lane, pick: null };
  const row = level < 0 ? -1 : rowAt(model, box.lane, level, time, slack);
  return { area: 'lanes', lane: box.lane, pick: row < 0 ? null : { type: 'row', row } };
}

function hitHead({ model, head }: Shown, time: number, y: number, slack: number): Hit {
  const step = y >= head.steps && y < head.gaps ? stepAt(model.steps, time) : -1;
  if (step >= 0) return { area: 'steps', lane: -1, pick: null, step };
  if (y < head.gaps || model.gapSet.row.length === 0) return { area: 'head', lane: -1, pick: null };
  const gap = gapAt(model, time, slack);
  return { area: 'gaps', lane: -1, pick: gap < 0 ? null : { type: 'gap', gap } };
}
