// SPDX-License-Identifier: Apache-2.0
/** Sums per name of what runs in a span of time. */
import { KIND_DEVICE } from '../../model/rows.js';
import type { Model } from './lanes.js';
import { firstSeen } from './tracks.js';

export interface Span {
  start: number;
  end: number;
}

export interface NameSum {
  name: number;
  kind: number;
  count: number;
  /** Time inside the span, ns; a row that reaches out of it counts with its part inside. */
  total: number;
  /** A row of this name: the longest part inside. */
  longest: number;
}

export interface Sums {
  byName: NameSum[];
  rows: number;
  /** Names not in byName because only `most` were asked for. */
  left: number;
}

/**
 * Rows of the given lanes that run in the span, by name and side, largest total first. Linear in the rows inside the span. Totals
 * include what a row encloses, as everywhere on the timeline.
 */
export function sumSpan(
  model: Model,
  span: Span,
  lanes: readonly number[],
  where: 'host' | 'device' | 'all',
  most: number,
): Sums {
  const { rows, set } = model;
  const names = model.header.strings.length;
  // By name, once for the host and once for the device: an array, since a window may hold a million
  // rows and a map costs ten times as much.
  const slotOf = new Int32Array(names * 2).fill(-1);
  const sums: NameSum[] = [];
  const parts: number[] = [];
  let counted = 0;
  for (const lane of lanes) {
    // Work of a device stands in streams only; half of the rows need not be looked at.
    const stream = model.lanes[lane]!.kind === 'stream';
    if (where !== 'all' && stream !== (where === 'device')) continue;
    for (let t = model.firstTrack[lane]!; t < model.firstTrack[lane + 1]!; ++t) {
      const track = set.tracks[t]!;
      for (
        let p = firstSeen(set, track, span.start);
        p < track.to && set.start[p]! < span.end;
        ++p
      ) {
        const row = set.row[p]!;
        const kind = rows.kind[row]!;
        if (where !== 'all' && kind >= KIND_DEVICE !== (where === 'device')) continue;
        const part = Math.max(
          0,
          Math.min(set.end[p]!, span.end) - Math.max(set.start[p]!, span.start),
        );
        const key = rows.name[row]! + (kind >= KIND_DEVICE ? names : 0);
        let slot = slotOf[key]!;
        if (slot < 0) {
          slot = slotOf[key] = sums.length;
          sums.push({ name: rows.name[row]!, kind, count: 0, total: 0, longest: row });
          parts.push(-1);
        }
        const sum = sums[slot]!;
        ++sum.count;
        sum.total += part;
        ++counted;
        if (part > parts[slot]!) {
          parts[slot] = part;
          sum.longest = row;
        }
      }
    }
  }
  sums.sort((a, b) => b.total - a.total || b.count - a.count || a.name - b.name);
  return { byName: sums.slice(0, most), rows: counted, left: Math.max(0, sums.length - most) };
}
