// SPDX-License-Identifier: Apache-2.0
// Levels of a lane. The column `depth` hangs a row under what was open when it began; a row that
// outlives that (a profiler's step begun inside the call that ended the last one) would stand one
// stair lower with each step. Here a row hangs under what covers it, on the first free level.

/** More rows open at once than a screen has lines: such a lane keeps the levels of the report. */
const MOST_OPEN = 512;

/**
 * Writes the levels of rows [first, last), which are in start order, outer first. Returns how many
 * there are, or 0 where too many rows are open at once. Linear in rows x open rows.
 */
export function placeRows(
  start: ArrayLike<number>,
  duration: ArrayLike<number>,
  first: number,
  last: number,
  level: Uint16Array,
): number {
  const ends: number[] = [];
  const levels: number[] = [];
  const taken: boolean[] = [];
  let count = 1;
  for (let row = first; row < last; ++row) {
    const begins = start[row]!;
    const stops = begins + duration[row]!;
    let kept = 0;
    let place = 0;
    for (let i = 0; i < ends.length; ++i) {
      const held = levels[i]!;
      if (ends[i]! <= begins) {
        taken[held] = false;
        continue;
      }
      if (ends[i]! >= stops && held >= place) place = held + 1;
      ends[kept] = ends[i]!;
      levels[kept++] = held;
    }
    ends.length = levels.length = kept;
    while (taken[place]) ++place;
    level[row] = place;
    count = Math.max(count, place + 1);
    if (stops <= begins) continue;
    if (kept >= MOST_OPEN) return 0;
    taken[place] = true;
    ends.push(stops);
    levels.push(place);
  }
  return count;
}
