// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { Efficiency, RooflineRow } from './report.js';
import { memoryRoof, roofOf } from './roofline.js';

const row = (change: Partial<RooflineRow>): RooflineRow => ({
  op: 'aten::mm',
  dims: '',
  types: '',
  calls: 1,
  device_ms: 1,
  flops: 4000,
  bytes: 100,
  precision: 'bf16',
  tflops_per_s: 300,
  gbytes_per_s: 7,
  roofline_share: 0.4,
  bound: 'compute',
  ...change,
});

function roof(rows: RooflineRow[], peaks: unknown) {
  return roofOf({ roofline: rows, peaks } as unknown as Efficiency);
}

describe('the roofline', () => {
  const peaks = {
    name: 'X',
    measured: true,
    bf16_tflops: 790,
    int8_tops: 1395,
    fp32_tflops: 52,
    memory_gbytes_per_s: 4300,
  };
  it('draws only the ceilings of what ran', () => {
    const drawn = roof([row({}), row({ precision: 'int8' })], peaks);
    expect(drawn.ceilings.map((ceiling) => ceiling.name)).toEqual(['bf16', 'int8']);
  });
  it('counts what has no place instead of dropping it', () => {
    const drawn = roof([row({ flops: 0 }), row({ bytes: null }), row({})], peaks);
    expect([drawn.points.length, drawn.unplaced]).toEqual([1, 2]);
  });
  it('stands without ceilings on a device that nobody knows', () => {
    const drawn = roof([row({})], { absent: 'no peaks for this device' });
    expect([drawn.ceilings, drawn.gbytes_per_s]).toEqual([[], null]);
  });
  it('meets memory at bytes times rate', () => expect(memoryRoof(4000, 10)).toBe(40));
});
