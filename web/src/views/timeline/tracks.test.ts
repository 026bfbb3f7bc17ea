// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { random } from '../../../tests/timeline_pack.js';
import { paintTrack } from './lod.js';
import {
  buildTracks,
  coveredTime,
  firstSeen,
  gallop,
  longestBox,
  lowerBound,
  type TrackSet,
} from './tracks.js';

interface Box {
  start: number;
  end: number;
}

/** A lane of boxes one after the other, with gaps, points in time and, rarely, a very long one. */
function randomBoxes(next: () => number, count: number): Box[] {
  let now = Math.floor(next() * 50);
  return Array.from({ length: count }, () => {
    const start = now;
    const kind = next();
    const length = kind < 0.1 ? 0 : kind < 0.95 ? Math.ceil(next() * 40) : Math.ceil(next() * 5000);
    now = start + length + (next() < 0.4 ? 0 : Math.floor(next() * 60));
    return { start, end: start + length };
  });
}

function trackOf(boxes: Box[]): TrackSet {
  return buildTracks(
    boxes.length,
    1,
    boxes.map((box) => box.start),
    boxes.map((box) => box.end - box.start),
    () => 0,
  );
}

function overlap(box: Box, a: number, b: number): number {
  return Math.max(0, Math.min(box.end, b) - Math.max(box.start, a));
}

const SEEDS = Array.from({ length: 40 }, (_, i) => i + 1);

describe('tracks', () => {
  it.each(SEEDS)('answers as a plain walk over all boxes does (seed %i)', (seed) => {
    const next = random(seed);
    const boxes = randomBoxes(next, 1 + Math.floor(next() * 700));
    const set = trackOf(boxes);
    const track = set.tracks[0]!;
    const end = boxes[boxes.length - 1]!.end + 100;
    for (let query = 0; query < 30; ++query) {
      const a = next() * end - 50;
      const b = a + next() * end * 0.5;
      const covered = boxes.reduce((sum, box) => sum + overlap(box, a, b), 0);
      expect(coveredTime(set, track, a, b)).toBeCloseTo(covered, 6);
      const seen = boxes.findIndex((box) => box.end > a || box.start >= a);
      expect(firstSeen(set, track, a)).toBe(seen < 0 ? boxes.length : seen);
      const i = Math.floor(next() * boxes.length);
      const j = i + 1 + Math.floor(next() * (boxes.length - i));
      const longest = Math.max(...boxes.slice(i, j).map((box) => box.end - box.start));
      const found = boxes[longestBox(set, track, i, j)]!;
      expect(found.end - found.start).toBe(longest);
    }
  });

  it('finds the same place by galloping as by halving', () => {
    const next = random(7);
    const values = randomBoxes(next, 500).map((box) => box.start);
    for (let query = 0; query < 500; ++query) {
      const from = Math.floor(next() * values.length);
      const key = next() * (values[values.length - 1]! + 100);
      expect(gallop(values, from, values.length, key)).toBe(
        lowerBound(values, from, values.length, key),
      );
    }
  });

  it('keeps rows of several tracks apart and in order, and leaves out what is not shown', () => {
    const set = buildTracks(
      5,
      2,
      [0, 1, 2, 3, 4],
      [1, 1, 1, 1, 1],
      (row) => [0, 1, -1, 0, 1][row]!,
    );
    expect([...set.row]).toEqual([0, 3, 1, 4]);
    expect(set.tracks.map(({ from, to }) => [from, to])).toEqual([
      [0, 2],
      [2, 4],
    ]);
  });

  it('cuts boxes that overlap at the next start and puts a late one at its predecessor', () => {
    const set = buildTracks(3, 1, [0, 10, 5], [100, 5, 20], () => 0);
    expect([...set.start]).toEqual([0, 10, 10]);
    expect([...set.end]).toEqual([10, 10, 25]);
  });
});

describe('paintTrack', () => {
  it.each(SEEDS)('shows every row once, marks say what is in them (seed %i)', (seed) => {
    const next = random(seed * 31);
    const boxes = randomBoxes(next, 1 + Math.floor(next() * 2000));
    const set = trackOf(boxes);
    const end = boxes[boxes.length - 1]!.end + 10;
    const t0 = next() < 0.3 ? 0 : next() * end * 0.6;
    const t1 = t0 + Math.max(10, next() * (end - t0));
    const pixels = 50 + Math.floor(next() * 200);
    const bucket = ((t1 - t0) / pixels) * 2;
    const shown: number[] = [];
    let calls = 0;
    let last = -1;
    paintTrack(set, set.tracks[0]!, t0, t1, bucket, {
      box: (position, start, stop) => {
        ++calls;
        expect(position).toBeGreaterThan(last);
        last = position;
        expect([start, stop]).toEqual([boxes[position]!.start, boxes[position]!.end]);
        shown.push(position);
      },
      mark: (start, longest, covered, from, to) => {
        ++calls;
        expect(from).toBeGreaterThan(last);
        last = to - 1;
        const inside = boxes.slice(from, to);
        for (const box of inside) {
          expect(box.start).toBeGreaterThanOrEqual(start - bucket * 1e-6);
          expect(box.start).toBeLessThan(start + bucket * (1 + 1e-6));
          expect(box.end - box.start).toBeLessThan(bucket);
        }
        expect(longest).toBeGreaterThanOrEqual(from);
        expect(longest).toBeLessThan(to);
        const most = Math.max(...inside.map((box) => box.end - box.start));
        expect(boxes[longest]!.end - boxes[longest]!.start).toBe(most);
        // A long box that begins in this bucket is drawn as a box over its rest.
        const counted = boxes.slice(0, to);
        const exact = counted.reduce((sum, box) => sum + overlap(box, start, start + bucket), 0);
        expect(covered).toBeCloseTo(Math.min(1, exact / bucket), 5);
        for (let p = from; p < to; ++p) shown.push(p);
      },
    });
    const expected = boxes.flatMap((box, p) =>
      box.start < t1 && (box.end > t0 || box.start >= t0) ? [p] : [],
    );
    // The last mark may reach beyond the window.
    expect(shown.filter((p) => boxes[p]!.start < t1)).toEqual(expected);
    // Pixels bound the work, not rows: two shapes a bucket at the most, and one for what began before.
    expect(calls).toBeLessThanOrEqual(pixels + 4);
  });

  it('needs as many shapes for a million rows as for a thousand', () => {
    const count = 1_000_000;
    const starts = Float64Array.from({ length: count }, (_, i) => i * 10);
    const set = buildTracks(count, 1, starts, new Float64Array(count).fill(6), () => 0);
    let calls = 0;
    const count1 = { box: () => ++calls, mark: () => ++calls };
    paintTrack(set, set.tracks[0]!, 0, count * 10, (count * 10) / 800, count1);
    expect(calls).toBeLessThanOrEqual(801);
  });
});
