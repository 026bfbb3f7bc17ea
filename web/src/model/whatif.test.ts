// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { Triple, WhatIf } from './page.js';
import { baseOf, commandFor, gainOf, marginOf, maskOf } from './whatif.js';

const steps: Triple[] = [
  [90, 100, 110],
  [40, 50, 70],
  [80, 90, 100],
  [35, 45, 66],
];
const whatif: WhatIf = {
  measured_ms: 120,
  replayed_ms: 119,
  error_pct: 0.8,
  bare_ms: { low: 90, likely: 100, high: 110 },
  recorder: null,
  switches: [
    { id: 'input-bound', what: 'a', scope: null, docs: null },
    { id: 'host-sync', what: 'b', scope: null, docs: null },
  ],
  steps_ms: steps,
  more: [],
};

describe('what if', () => {
  it('counts gains from the step without the recorder', () => {
    expect(baseOf(whatif)).toBe(100);
    expect(gainOf(whatif, 1)).toEqual({ ms: [40, 50, 70], speedup: 2, saved_ms: 50 });
  });
  it('counts from the measured step where the recorder is not known', () =>
    expect(baseOf({ ...whatif, bare_ms: { absent: 'not calibrated' } })).toBe(120));
  it('says what a switch adds to those that are on', () => {
    expect(marginOf(whatif, 0, 1)).toBe(10);
    expect(marginOf(whatif, 1, 1)).toBe(5);
    expect(marginOf(whatif, 3, 0)).toBe(45);
  });
  it('knows no set that was not replayed', () => expect(gainOf(whatif, 4)).toBeNull());
  it('finds the switches of a finding', () => {
    expect(maskOf(whatif, ['host-sync', 'nothing'])).toBe(2);
    expect(maskOf(whatif, [])).toBe(0);
  });
  it('names the command', () => {
    expect(commandFor(whatif, 3, 't.json')).toBe('hone whatif t.json --fix input-bound,host-sync');
    expect(commandFor(whatif, 0, 't.json')).toBeNull();
  });
});
