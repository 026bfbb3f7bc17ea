// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { random } from '../../../tests/timeline_pack.js';
import { placeRows } from './levels.js';

function place(rows: [start: number, end: number][]): number[] {
  const level = new Uint16Array(rows.length);
  const starts = rows.map(([start]) => start);
  const durations = rows.map(([start, end]) => end - start);
  placeRows(starts, durations, 0, rows.length, level);
  return [...level];
}

describe('levels', () => {
  it('are the nesting, where rows are nested', () => {
    const rows: [number, number][] = [
      [0, 100],
      [0, 40],
      [10, 20],
      [40, 90],
      [50, 50],
      [100, 120],
    ];
    expect(place(rows)).toEqual([0, 1, 2, 1, 2, 0]);
  });

  it('do not go down a stair with every step that outlives the call it began in', () => {
    // main; a call that begins a step; the step; its work; the call that ends it and begins the next.
    const rows: [number, number][] = [[0, 1000]];
    for (let step = 0; step < 5; ++step) {
      const at = 100 + step * 100;
      rows.push([at, at + 10], [at + 5, at + 105], [at + 20, at + 90]);
    }
    const levels = place(rows);
    expect(Math.max(...levels)).toBeLessThanOrEqual(4);
    const steps = levels.filter((_, i) => i % 3 === 2);
    expect(new Set(steps.slice(1)).size).toBe(1);
  });

  it('never puts two rows that run at the same time on one level, nor a row above what covers it', () => {
    const next = random(4);
    for (let lane = 0; lane < 30; ++lane) {
      const rows = Array.from({ length: 200 }, (): [number, number] => {
        const start = Math.floor(next() * 1000);
        return [start, start + Math.floor(next() ** 3 * 300)];
      }).sort((a, b) => a[0] - b[0] || b[1] - a[1]);
      const levels = place(rows);
      const wrong = rows.flatMap(([start, end], i) =>
        rows.slice(0, i).filter(([, until], j) => {
          if (until <= start || end === start) return false;
          return levels[j] === levels[i] || (until >= end && levels[j]! > levels[i]!);
        }),
      );
      expect(wrong).toEqual([]);
    }
  });

  it('gives up on a lane where too much is open at once', () => {
    const count = 2000;
    const level = new Uint16Array(count);
    const starts = Float64Array.from({ length: count }, (_, i) => i);
    expect(placeRows(starts, new Float64Array(count).fill(1e6), 0, count, level)).toBe(0);
  });
});
