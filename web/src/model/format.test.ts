// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import * as format from './format.js';

describe('times', () => {
  it.each([
    [195.9, '196 ms'],
    [99.96, '100 ms'],
    [27.71, '27.7 ms'],
    [1234.5, '1.23 s'],
    [90_000, '1.50 min'],
    [0.0427, '42.7 µs'],
    [0.0000004, '0 ns'],
    [0.00025, '250 ns'],
    [0, '0 ms'],
    [-5.25, '-5.25 ms'],
  ])('%d ms is %s', (ms, text) => expect(format.time(ms)).toBe(text));
});

describe('shares', () => {
  it('never calls something nothing', () => expect(format.share(0.0001)).toBe('<0.1 %'));
  it('calls nothing nothing', () => expect(format.share(0)).toBe('0.0 %'));
  it('may pass one', () => expect(format.share(1.05)).toBe('105.0 %'));
});

describe('sizes and counts', () => {
  it.each([
    [0, '0 B'],
    [1023, '1,023 B'],
    [1024, '1.00 KiB'],
    [3320837120, '3.09 GiB'],
    [-2048, '-2.00 KiB'],
    [2 ** 60, '1,048,576 TiB'],
  ])('%d bytes are %s', (size, text) => expect(format.bytes(size)).toBe(text));
  it('counts with a word', () => {
    expect(format.plural(1, 'step')).toBe('1 step');
    expect(format.plural(1204, 'loss', 'losses')).toBe('1,204 losses');
  });
});

describe('speed-ups', () => {
  it.each([
    [2.1332, '2.1x'],
    [1.0319, '1.03x'],
    [1.094, '1.09x'],
    [12.4, '12x'],
  ])('%d is %s', (value, text) => expect(format.speedup(value)).toBe(text));
});
