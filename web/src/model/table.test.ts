// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { TableColumn } from './table.js';
import { csvOf, filterRows, groupRows, nextSort, shownRows, sortRows } from './table.js';

const columns: TableColumn[] = [
  { key: 'name', label: 'name', kind: 'text' },
  { key: 'op', label: 'op', kind: 'text' },
  { key: 'ms', label: 'ms', kind: 'ms', gather: 'sum' },
  { key: 'p95', label: 'p95', kind: 'us' },
  { key: 'max', label: 'max', kind: 'us', gather: 'max' },
];
const rows = [
  { name: 'gemm_b', op: 'aten::mm', ms: 2, p95: 5, max: 9 },
  { name: 'gemm_a', op: 'aten::mm', ms: 10, p95: 6, max: 7 },
  { name: 'copy', op: null, ms: null, p95: 1, max: 1 },
  { name: 'relu', op: 'aten::relu', ms: 0, p95: 2, max: 2 },
];
const names = (list: Record<string, unknown>[]) => list.map((row) => row['name']);

describe('sorting', () => {
  it('compares numbers as numbers', () =>
    expect(names(sortRows(rows, columns, '-ms'))).toEqual(['gemm_a', 'gemm_b', 'relu', 'copy']));
  it('puts the unknown last, whichever way', () =>
    expect(names(sortRows(rows, columns, 'ms')).pop()).toBe('copy'));
  it('does not touch the report', () => {
    sortRows(rows, columns, 'name');
    expect(rows[0]?.name).toBe('gemm_b');
  });
  it('ignores a column that is not there', () => expect(sortRows(rows, columns, '-x')).toBe(rows));
  it('turns round, then back', () => {
    const ms = columns[2];
    if (!ms) throw new Error('no column');
    expect(nextSort('', ms)).toBe('-ms');
    expect(nextSort('-ms', ms)).toBe('ms');
    expect(nextSort('ms', ms)).toBe('');
  });
});

describe('filtering', () => {
  it('wants every word, in any text column', () =>
    expect(names(filterRows(rows, columns, 'GEMM mm a'))).toEqual(['gemm_b', 'gemm_a']));
  it('leaves out by a minus', () =>
    expect(names(filterRows(rows, columns, '-gemm'))).toEqual(['copy', 'relu']));
  it('takes words as text, not as patterns', () =>
    expect(filterRows(rows, columns, 'gemm.*')).toEqual([]));
});

describe('grouping', () => {
  const groups = groupRows(rows, columns, 'op');
  it('sums what adds up and leaves out what does not', () =>
    expect(groups[0]).toEqual({
      rows: 2,
      name: '2 different',
      op: 'aten::mm',
      ms: 12,
      p95: null,
      max: 9,
    }));
  it('keeps a group of the unknown', () => expect(groups[1]).toMatchObject({ op: '', ms: null }));
  it('is sorted after it is gathered', () => {
    const shown = shownRows(rows, columns, { sort: '-ms', filter: '', group: 'op' });
    expect(shown.map((row) => row['ms'])).toEqual([12, 0, null]);
  });
});

describe('csv', () => {
  it('quotes what needs it and leaves the unknown empty', () => {
    const hard = [{ name: 'a,"b"\nc', op: null, ms: 0.1, p95: 1, max: 2 }];
    expect(csvOf(hard, columns)).toBe('name,op,ms,p95,max\n"a,""b""\nc",,0.1,1,2\n');
  });
});
