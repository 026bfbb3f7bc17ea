// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { Share } from './page.js';
import type { Finding, Report } from './report.js';
import { isAbsent, known, whyAbsent } from './report.js';
import { segmentsOf, splitOf } from './shares.js';
import { barOf, gainText, verdictOf } from './verdict.js';

const shares: Share[] = [
  { id: 'idle:waiting-for-data', text: 'waiting for data', ms: 107, share: 0.535 },
  { id: 'compute', text: 'GPU compute', ms: 76, share: 0.38 },
  { id: 'copy', text: 'copies, not hidden', ms: 11, share: 0.055 },
  { id: 'idle:host-work', text: 'Python or other host work', ms: 6, share: 0.03 },
  { id: 'comm', text: 'communication', ms: 0, share: 0 },
];

function reportWith(headline: unknown): Report {
  return {
    page: { headline },
    timeline: { absent: 'no device work in this trace' },
    findings: [],
    replay: { absent: 'no steps' },
    steps: { steady_count: 4 },
  } as unknown as Report;
}

describe('the bar', () => {
  const segments = segmentsOf(shares);
  it('has work before idle, each largest first, and nothing of no length', () =>
    expect(segments.map((part) => part.id)).toEqual([
      'compute',
      'copy',
      'idle:waiting-for-data',
      'idle:host-work',
    ]));
  it('splits into work and idle that make the whole', () =>
    expect(splitOf(segments)).toEqual({ total_ms: 200, work_ms: 87, idle_ms: 113 }));
  it('gives causes that it does not know a look too', () =>
    expect(segmentsOf([{ id: 'idle:new', text: 'x', ms: 1, share: 1 }])[0]?.look.pattern).toBe(
      'cross',
    ));
});

describe('the gain of a finding', () => {
  const gain = (more: object) => gainText({ speedup: 2.9, ...more } as Finding);
  it('is a limit where it is the most there is', () => {
    expect(gain({})).toBe('2.9x');
    expect(gain({ at_most: true })).toBe('up to 2.9x');
  });
  it('is nothing where no model says', () =>
    expect(gain({ speedup: { absent: 'no model' } })).toBeNull());
});

describe('the verdict', () => {
  it('names the largest wait', () =>
    expect(verdictOf(reportWith({ what: '', trust: 'good', shares }))[0]).toBe(
      'The GPU works 43.5 % of a step and idles 56.5 %, mostly: waiting for data.',
    ));
  it('speaks of no step where none was found', () => {
    const report = reportWith({ what: '', trust: 'good', shares });
    report.steps = { absent: 'no step marks' };
    expect(verdictOf(report)[0]).toContain(
      '43.5 % of the 200 ms from its first to its last work and',
    );
  });
  it('says what makes a busy device slow', () => {
    const busy = [{ id: 'compute', text: 'GPU compute', ms: 99, share: 0.99 }];
    const report = reportWith({ what: '', trust: 'good', shares: busy });
    report.findings = [
      { id: 'a', severity: 'info', title: 'the profiler slows this program' },
      { id: 'b', severity: 'high', title: 'matrix products run in fp32' },
    ] as unknown as Finding[];
    expect(verdictOf(report)[0]).toBe(
      'The GPU works 100.0 % of a step; what costs most: matrix products run in fp32.',
    );
  });
  it('offers half precision beside what is wrong, and only where it is predicted', () => {
    const report = reportWith({ what: '', trust: 'good', shares });
    const replay = { bare_step_ms: { low: 9, likely: 10, high: 11 }, together_ms: { absent: 'x' } };
    report.replay = { ...replay, half_precision_ms: { low: 4, likely: 5, high: 7 } } as never;
    expect(verdictOf(report)[1]).toBe(
      'Half precision is left to try: 5.00 ms predicted (4.00–7.00) under ' +
        'torch.autocast("cuda", torch.bfloat16); watch what it learns.',
    );
    report.replay = {
      ...replay,
      half_precision_ms: { low: 4, likely: 5, high: 7 },
      half_precision_dtype: 'float16',
    } as never;
    expect(verdictOf(report)[1]).toContain('torch.autocast("cuda", torch.float16)');
    report.replay = {
      ...replay,
      half_precision_ms: { absent: 'all is in half precision' },
    } as never;
    expect(verdictOf(report)).toHaveLength(1);
  });
  it('offers what is predicted, and names what is not counted', () => {
    const report = reportWith({ what: '', trust: 'good', shares });
    const step = { low: 4, likely: 5, high: 7 };
    report.replay = { bare_step_ms: { low: 9, likely: 10, high: 11 }, together_ms: step } as never;
    const offered = (...models: boolean[]) => {
      report.findings = models.map((model, index) => ({
        id: `f${index}`,
        severity: 'high',
        title: '',
        predicted_step_ms: model ? step : { absent: 'the replay has no model of it' },
      })) as unknown as Finding[];
      return verdictOf(report)[1]?.split(': 10.0 →')[0];
    };
    expect(offered(true)).toBe('With the finding below fixed');
    expect(offered(true, true)).toBe('With both findings fixed');
    expect(offered(true, true, true)).toBe('With all 3 findings fixed');
    expect(offered(true, false)).toBe(
      'With finding 1 fixed (finding 2 not counted: the replay has no model of it)',
    );
    expect(offered(false, true, false, true)).toBe(
      'With findings 2 and 4 fixed (findings 1 and 3 not counted: the replay has no model of them)',
    );
    expect(offered(true, true, true, true, false)).toBe(
      'With 4 findings fixed (finding 5 not counted: the replay has no model of it)',
    );
  });
  it('says why it cannot tell', () =>
    expect(
      verdictOf(reportWith({ what: '', trust: 'good', shares: { absent: 'no steps' } })),
    ).toEqual(['Where a step goes is not known: no steps.']));
  it('tells of the host where there is no device', () => {
    const report = reportWith({ shares: { absent: 'no device work in this trace' } });
    const parts = [
      { kind: 'host', name: 'aten::mm', ms: 10, share: 0.1, per_step: 1 },
      { kind: 'host', name: 'aten::sqrt', ms: 70, share: 0.7, per_step: 1 },
      { kind: 'host', name: 'aten::add', ms: 1, share: 0.01, per_step: 1 },
    ];
    report.critical_path = { length_ms: 100, kinds: [], parts };
    expect(barOf(report).segments.map((part) => [part.text, part.ms])).toEqual([
      ['aten::sqrt', 70],
      ['aten::mm', 10],
      ['all else', 20],
    ]);
    expect(verdictOf(report)[0]).toBe(
      'No device work in this trace: the host sets the pace. ' +
        'The largest part of a step is aten::sqrt, 70.00 of 100.0 ms.',
    );
  });
  it('falls back on the reason of the timeline', () =>
    expect(verdictOf(reportWith(undefined))[0]).toContain('no device work in this trace'));
});

describe('absence', () => {
  it('is an object with a reason', () => {
    expect(isAbsent({ absent: 'why' })).toBe(true);
    expect(isAbsent({ absent: 3 })).toBe(false);
    expect(isAbsent(null)).toBe(false);
    expect(known({ absent: 'why' })).toBeNull();
    expect(known(0)).toBe(0);
    expect(whyAbsent(undefined)).toBeNull();
  });
});
