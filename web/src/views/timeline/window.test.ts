// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { random } from '../../../tests/timeline_pack.js';
import { contrast, parseColor, turnHue, variantsOf } from './palette.js';
import { durationText, labelOf, momentText, percentText, ticksFor } from './time_text.js';
import { clampWindow, panWindow, reveal, windowAround, zoomWindow } from './window.js';

const SPAN = 1e9;

describe('window', () => {
  it('keeps the moment under the pointer where it is', () => {
    const next = random(1);
    for (let i = 0; i < 200; ++i) {
      const start = SPAN * (0.3 + next() * 0.2);
      const window = { start, end: start + SPAN * 0.1 * next() + 1000 };
      const at = window.start + next() * (window.end - window.start);
      const factor = 0.5 + next();
      const zoomed = zoomWindow(window, factor, at, SPAN);
      const share = (at - window.start) / (window.end - window.start);
      expect((at - zoomed.start) / (zoomed.end - zoomed.start)).toBeCloseTo(share, 4);
      expect(zoomed.end - zoomed.start).toBeCloseTo((window.end - window.start) * factor, -1);
    }
  });

  it('never leaves the recording, never becomes empty', () => {
    const next = random(2);
    let window = { start: 0, end: SPAN };
    for (let i = 0; i < 2000; ++i) {
      window =
        next() < 0.5
          ? zoomWindow(window, Math.exp(next() * 2 - 1), next() * SPAN, SPAN)
          : panWindow(window, (next() - 0.5) * SPAN, SPAN);
      expect(window.end - window.start).toBeGreaterThanOrEqual(99.9);
      expect(window.end - window.start).toBeLessThanOrEqual(SPAN * 1.1 + 1);
      expect(window.start).toBeGreaterThanOrEqual(-SPAN * 0.06);
      expect(window.end).toBeLessThanOrEqual(SPAN * 1.06);
    }
    expect(clampWindow({ start: NaN, end: NaN }, SPAN)).toEqual({ start: 0, end: SPAN });
  });

  it('moves only to what is not seen', () => {
    const window = { start: 100_000, end: 200_000 };
    expect(reveal(window, 150_000, 160_000, SPAN)).toEqual(window);
    const moved = reveal(window, 500_000, 500_010, SPAN);
    expect(moved.start).toBeLessThan(500_000);
    expect(moved.end - moved.start).toBeCloseTo(100_000, 3);
    const around = windowAround(5000, 6000, SPAN);
    expect(around.start).toBeLessThan(5000);
    expect(around.end).toBeGreaterThan(6000);
  });
});

describe('words', () => {
  it('gives times four figures', () => {
    expect(durationText(0)).toBe('0 ns');
    expect(durationText(850)).toBe('850 ns');
    expect(durationText(12_345)).toBe('12.35 µs');
    expect(durationText(999_960)).toBe('1.000 ms');
    expect(durationText(131_893_309)).toBe('131.9 ms');
    expect(durationText(2.5e9)).toBe('2.500 s');
    expect(momentText(1_234_567, 1e9)).toBe('1.2 ms');
    expect(momentText(1_234_567, 1000)).toBe('1.234567 ms');
    expect(percentText(0.0004)).toBe('<0.1 %');
    expect(percentText(0.5)).toBe('50 %');
  });

  it('ticks are round, apart, and named without noise', () => {
    const ticks = ticksFor(1.03e6, 1.97e6, 10);
    expect(ticks.step).toBe(1e5);
    expect(ticks.first).toBe(1.1e6);
    expect(ticks.text(ticks.first)).toBe('1.1 ms');
    expect(ticksFor(0, 50, 10).text(10)).toBe('10 ns');
  });

  it('names are cut to what they are known by', () => {
    const kernel =
      'void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int)';
    expect(labelOf(kernel)).toBe('MulFunctor · vectorized_elementwise_kernel');
    expect(labelOf('void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, int, 512>(x)')).toBe(
      'bn_fw_tr_1C11_kernel_NCHW',
    );
    expect(labelOf('autograd::engine::evaluate_function: MmBackward0')).toBe(
      'evaluate MmBackward0',
    );
    expect(labelOf('void cutlass::Kernel2<cutlass_80_simt_sgemm_128x128_8x4_nt_align1>(x)')).toBe(
      'cutlass_80_simt_sgemm_128x128_8x4_nt_align1 · Kernel2',
    );
    expect(labelOf('softmax_warp_forward<float, float, 10>')).toBe('softmax_warp_forward');
    expect(labelOf('aten::mm')).toBe('aten::mm');
    expect(labelOf('torch::autograd::AccumulateGrad')).toBe('torch::autograd::AccumulateGrad');
    expect(labelOf('enumerate(DataLoader)#_Iter.__next__')).toBe(
      'enumerate(DataLoader)#_Iter.__next__',
    );
    expect(labelOf('torch/nn/modules/module.py(1770): _call_impl')).toBe(
      '_call_impl module.py:1770',
    );
    expect(labelOf('</script><img src=x onerror=alert(1)>')).toContain('img');
  });
});

describe('palette', () => {
  it('reads colours, turns hues and keeps grey grey', () => {
    expect(parseColor('#3f7fc1')).toEqual([63, 127, 193]);
    expect(parseColor('#fff')).toEqual([255, 255, 255]);
    expect(parseColor('#0b5c')).toEqual([0, 187, 85]);
    expect(parseColor('#01020380')).toEqual([1, 2, 3]);
    expect(parseColor('rgb(1, 2, 3)')).toEqual([1, 2, 3]);
    turnHue([100, 100, 100], 90).forEach((part) => expect(part).toBeCloseTo(100, 6));
    expect(contrast([0, 0, 0], [255, 255, 255])).toBeCloseTo(21, 6);
  });

  it('spreads names over the variants', () => {
    const names = Array.from({ length: 400 }, (_, i) => `kernel_${i}`);
    const counts = new Map<number, number>();
    for (const variant of variantsOf(names)) counts.set(variant, (counts.get(variant) ?? 0) + 1);
    expect(counts.size).toBe(8);
    for (const count of counts.values()) expect(count).toBeGreaterThan(20);
  });
});
