// SPDX-License-Identifier: Apache-2.0
/**
 * What a track shows in a window: boxes wide enough to be seen, and for the rest one mark per bucket of time.
 * At most about two marks a bucket and track, whatever the number of rows: cost is pixels x log(rows).
 */
import { firstSeen, gallop, longestBox, lowerBound, type Boxes, type Track } from './tracks.js';

/** Receives boxes and marks in time order. */
export interface Painter {
  /** One row, from start to end. */
  box(position: number, start: number, end: number): void;
  /**
   * Rows [from, to) in the bucket that begins at `start`: `longest` is the position that stands for them, `covered` the share
   * of the bucket in which something runs (0 where all rows are points in time).
   */
  mark(start: number, longest: number, covered: number, from: number, to: number): void;
}

/**
 * Walks the track from t0 to t1. Rows shorter than `bucket` (ns) that start in the same bucket become one mark; buckets stand at
 * multiples of `bucket`, so a picture does not shimmer while it is moved.
 */
export function paintTrack(
  set: Boxes,
  track: Track,
  t0: number,
  t1: number,
  bucket: number,
  painter: Painter,
): void {
  const { start, end, busy } = set;
  let p = firstSeen(set, track, t0);
  while (p < track.to && start[p]! < t1) {
    const begins = start[p]!;
    if (end[p]! - begins >= bucket) {
      painter.box(p, begins, end[p]!);
      ++p;
      continue;
    }
    const bucketStart = Math.floor(begins / bucket) * bucket;
    // floor() of a quotient can land one bucket late; the bucket must end after its first row begins.
    const bucketEnd = Math.max(bucketStart + bucket, begins + bucket * 1e-9);
    let next = Math.max(p + 1, gallop(start, p, track.to, bucketEnd));
    if (next - p > 1 && end[next - 1]! - start[next - 1]! >= bucket) --next;
    if (next - p === 1) {
      painter.box(p, begins, end[p]!);
    } else {
      const last = next - 1;
      const inside = busy[last]! - busy[p]! + Math.min(end[last]!, bucketEnd) - start[last]!;
      const before = coveredSince(set, track, bucketStart, p);
      painter.mark(
        bucketStart,
        longestBox(set, track, p, next),
        Math.min(1, (inside + before) / bucket),
        p,
        next,
      );
    }
    p = next;
  }
}

/** Time from `since` to the start of p that boxes before p cover. */
function coveredSince({ start, end, busy }: Boxes, track: Track, since: number, p: number): number {
  if (p === track.from) return 0;
  if (start[p - 1]! < since) return Math.max(0, end[p - 1]! - since);
  // Only where the window begins inside a bucket, or a long box ended in this one.
  const first = lowerBound(start, track.from, p, since);
  const spill = first > track.from ? Math.max(0, end[first - 1]! - since) : 0;
  return busy[p]! - busy[first]! + spill;
}
