// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { PageState } from './state.js';
import { START, formatState, parseState } from './state.js';

const far: PageState = {
  tab: 'timeline',
  tables: {
    kernels: { sort: '-total_ms', filter: 'a&b=c #% ü', group: '' },
    ops: { sort: '', filter: '', group: 'kind' },
  },
  fix: 5,
  window: [1000, 131893309],
  row: 0,
  search: '/^aten::.*mm$/',
  finding: 2,
  flame: 'python',
  node: 17,
};

describe('links', () => {
  it('come back as they went', () => expect(parseState(formatState(far))).toEqual(far));
  it('say nothing at the start', () => expect(formatState(START)).toBe(''));
  it('read an empty hash as the start', () => {
    expect(parseState('')).toEqual(START);
    expect(parseState('#')).toEqual(START);
  });
  it.each([
    '#tab=nonsense',
    '#t=5,1',
    '#t=1',
    '#t=-1,5',
    '#fix=-1',
    '#fix=128',
    '#fix=1e9',
    '#row=x',
    '#node=4.5',
    '#flame=<img>',
    '#sort.__proto__=x&sort.KERNELS=y',
    '#%E0%A4%A',
  ])('that are broken (%s) are the start', (hash) => expect(parseState(hash)).toEqual(START));
  it('leave the prototype alone', () => {
    parseState('#sort.constructor=x');
    expect(({} as Record<string, unknown>)['sort']).toBeUndefined();
  });
});
