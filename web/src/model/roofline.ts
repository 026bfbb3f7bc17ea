// SPDX-License-Identifier: Apache-2.0
// Points and ceilings of the roofline plot.
import type { Efficiency, RooflineRow } from './report.js';
import { known } from './report.js';

export interface RoofPoint {
  row: RooflineRow;
  /** FLOPs for each byte moved. */
  intensity: number;
  tflops: number;
}

export interface Ceiling {
  name: string;
  tflops: number;
}

export interface Roof {
  points: RoofPoint[];
  ceilings: Ceiling[];
  gbytes_per_s: number | null;
  /** Rows that have no place in a plot of two logarithms. */
  unplaced: number;
}

export function roofOf(efficiency: Efficiency): Roof {
  const points: RoofPoint[] = [];
  let unplaced = 0;
  for (const row of known(efficiency.roofline) ?? []) {
    const { flops, bytes, tflops_per_s } = row;
    if (flops && bytes && tflops_per_s) {
      points.push({ row, intensity: flops / bytes, tflops: tflops_per_s });
    } else {
      unplaced += 1;
    }
  }
  points.sort((a, b) => b.row.device_ms - a.row.device_ms);
  const peaks = known(efficiency.peaks) ?? {};
  const used = new Set(points.map((point) => point.row.precision));
  const ceilings = Object.entries(peaks).flatMap(([key, value]): Ceiling[] => {
    const name = /^(.*)_t(?:fl)?ops$/.exec(key)?.[1];
    return name && used.has(name) && typeof value === 'number' ? [{ name, tflops: value }] : [];
  });
  const memory = peaks['memory_gbytes_per_s'];
  return { points, ceilings, gbytes_per_s: typeof memory === 'number' ? memory : null, unplaced };
}

/** TFLOP/s that memory allows at an intensity. */
export function memoryRoof(gbytesPerS: number, intensity: number): number {
  return (gbytesPerS * intensity) / 1000;
}
