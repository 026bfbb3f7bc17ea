// SPDX-License-Identifier: Apache-2.0
/**
 * Tracks: what one line of boxes shows, in time order, with what makes any zoom cheap.
 *
 * A box ends at its end or at the start of the next box of its track, whichever comes first: levels come from
 * the program, so two boxes of a track do not overlap, and where bad data says they do every query still
 * costs a binary search. Per track two aids are made once, linear in its boxes:
 *   busy       running sum of time covered: coverage of any span is two look-ups;
 *   longest    mip levels, factor 8: position of the longest box of 8, 64, 512, ... boxes.
 * All tracks lie in the same flat arrays; a track is [from, to) in them.
 */

/** Boxes of a mip entry, as a power of two. Measured for 4, 8, 16: no difference that can be seen. */
const FAN_BITS = 3;

export interface Boxes {
  /** By position: start and end in ns, the row it stands for. */
  start: Float64Array;
  end: Float64Array;
  row: Uint32Array;
  /** busy[p]: time covered by the boxes of p's track before p. */
  busy: Float64Array;
}

export interface Track {
  from: number;
  to: number;
  /** levels[k][i]: position of the longest of the boxes from + [i << 3(k+1), (i+1) << 3(k+1)). */
  levels: Uint32Array[];
}

export interface TrackSet extends Boxes {
  tracks: Track[];
}

/**
 * Sorts rows into tracks, stable: rows of a track must come in start order. trackOf returns a track's index or
 * -1 for a row that is not shown. A row out of order is put at its predecessor's start: shown, never lost.
 */
export function buildTracks(
  count: number,
  trackCount: number,
  start: ArrayLike<number>,
  duration: ArrayLike<number>,
  trackOf: (row: number) => number,
): TrackSet {
  const place = new Uint32Array(trackCount + 1);
  for (let row = 0; row < count; ++row) {
    const track = trackOf(row);
    if (track >= 0) ++place[track + 1]!;
  }
  for (let track = 0; track < trackCount; ++track) place[track + 1]! += place[track]!;
  const next = place.slice();
  const shown = place[trackCount]!;
  const boxes: Boxes = {
    start: new Float64Array(shown),
    end: new Float64Array(shown),
    row: new Uint32Array(shown),
    busy: new Float64Array(shown),
  };
  for (let row = 0; row < count; ++row) {
    const track = trackOf(row);
    if (track < 0) continue;
    const at = next[track]!++;
    boxes.row[at] = row;
    boxes.start[at] = start[row]!;
    boxes.end[at] = start[row]! + duration[row]!;
  }
  const tracks: Track[] = [];
  for (let track = 0; track < trackCount; ++track) {
    const from = place[track]!;
    const to = place[track + 1]!;
    settle(boxes, from, to);
    tracks.push({ from, to, levels: longestLevels(boxes, from, to) });
  }
  return { ...boxes, tracks };
}

/** Puts ends and running sums right, see above. */
function settle({ start, end, busy }: Boxes, from: number, to: number): void {
  for (let p = from + 1; p < to; ++p) {
    if (start[p]! < start[p - 1]!) start[p] = start[p - 1]!;
    if (end[p]! < start[p]!) end[p] = start[p]!;
    if (end[p - 1]! > start[p]!) end[p - 1] = start[p]!;
  }
  let sum = 0;
  for (let p = from; p < to; ++p) {
    busy[p] = sum;
    sum += end[p]! - start[p]!;
  }
}

function longestLevels({ start, end }: Boxes, from: number, to: number): Uint32Array[] {
  const levels: Uint32Array[] = [];
  const longer = (a: number, b: number) => (end[b]! - start[b]! > end[a]! - start[a]! ? b : a);
  let size = to - from;
  let below: Uint32Array | null = null;
  while (size > 1 << FAN_BITS) {
    const entries = (size + (1 << FAN_BITS) - 1) >> FAN_BITS;
    const level = new Uint32Array(entries);
    for (let i = 0; i < entries; ++i) {
      const first = i << FAN_BITS;
      let best = below ? below[first]! : from + first;
      for (let j = first + 1; j < Math.min(first + (1 << FAN_BITS), size); ++j) {
        best = longer(best, below ? below[j]! : from + j);
      }
      level[i] = best;
    }
    levels.push(level);
    below = level;
    size = entries;
  }
  return levels;
}

/** First position of [from, to) whose value is >= key; to if there is none. */
export function lowerBound(
  values: ArrayLike<number>,
  from: number,
  to: number,
  key: number,
): number {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (values[middle]! < key) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** lowerBound for a key that is expected near `from`: cost is the logarithm of the distance. */
export function gallop(values: ArrayLike<number>, from: number, to: number, key: number): number {
  let step = 1;
  let low = from;
  while (low + step < to && values[low + step]! < key) {
    low += step;
    step <<= 1;
  }
  return lowerBound(values, low, Math.min(to, low + step + 1), key);
}

/** First position of the track that is seen at or after `time`: the box that covers it, or the next one. */
export function firstSeen(set: Boxes, track: Track, time: number): number {
  const next = lowerBound(set.start, track.from, track.to, time);
  return next > track.from && set.end[next - 1]! > time ? next - 1 : next;
}

/** Position of the longest box of [i, j), i < j; the first of equals. */
export function longestBox(set: Boxes, track: Track, i: number, j: number): number {
  const { start, end } = set;
  let best = i;
  let bestLength = end[i]! - start[i]!;
  const consider = (p: number) => {
    const length = end[p]! - start[p]!;
    if (length > bestLength || (length === bestLength && p < best)) {
      best = p;
      bestLength = length;
    }
  };
  let low = i - track.from;
  let high = j - track.from;
  const mask = (1 << FAN_BITS) - 1;
  for (let k = -1; low < high; ++k) {
    const level = k < 0 ? null : track.levels[k]!;
    const top = k + 1 >= track.levels.length;
    while (low < high && (top || (low & mask) !== 0))
      consider(level ? level[low++]! : track.from + low++);
    while (low < high && (high & mask) !== 0)
      consider(level ? level[--high]! : track.from + --high);
    low >>= FAN_BITS;
    high >>= FAN_BITS;
  }
  return best;
}

/** Time of [a, b) that the boxes of the track cover. */
export function coveredTime(set: Boxes, track: Track, a: number, b: number): number {
  return coveredBefore(set, track, b) - coveredBefore(set, track, a);
}

function coveredBefore(set: Boxes, track: Track, time: number): number {
  const p = lowerBound(set.start, track.from, track.to, time) - 1;
  if (p < track.from) return 0;
  return set.busy[p]! + Math.min(time, set.end[p]!) - set.start[p]!;
}
