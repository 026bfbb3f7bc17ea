// SPDX-License-Identifier: Apache-2.0
// The first sentence of the page: what a step is spent on, and what could be had.
import * as format from './format.js';
import type { Finding, Report } from './report.js';
import { known, whyAbsent } from './report.js';
import type { Segment } from './shares.js';
import { hostLook, lookOf, segmentsOf, splitOf } from './shares.js';

/** Sentences about the recording and not faults of the program (docs/user/findings.md). */
export function isRemark(finding: Finding): boolean {
  return (
    finding.severity === 'info' || finding.id === 'healthy' || finding.id === 'observer-effect'
  );
}

/** Text of a cause without the words that say that it is one: "idle: waiting for data". */
export function causeOf(text: string): string {
  return text.replace(/^idle: /, '');
}

export interface Bar {
  /** Time of the main device, or, where there is none, of the host along the critical path. */
  of: 'device' | 'host';
  /** Of one step, or, where none were found, of the device from its first to its last work. */
  step: boolean;
  segments: Segment[];
}

/** A part of the host's time gets a segment of its own from this share on, and at most so many. */
const HOST_SHARE = 0.03;
const HOST_PARTS = 6;

/** Parts of the critical path, largest first, what is left over last. */
function hostSegments(report: Report): Segment[] {
  const path = known(report.critical_path);
  if (!path || path.length_ms <= 0) return [];
  const parts = path.parts
    .filter((part) => part.share >= HOST_SHARE)
    .sort((a, b) => b.ms - a.ms)
    .slice(0, HOST_PARTS);
  const segments = parts.map((part, index): Segment => ({
    id: `host:${index}`,
    text: part.name,
    ms: part.ms,
    share: part.share,
    idle: false,
    look: hostLook(index),
  }));
  const left = path.length_ms - parts.reduce((sum, part) => sum + part.ms, 0);
  if (left > path.length_ms * 1e-6) {
    const look = lookOf('other');
    const share = left / path.length_ms;
    segments.push({ id: 'host:other', text: 'all else', ms: left, share, idle: false, look });
  }
  return segments;
}

/** What the bar of the first screen shows; no segments where the report has neither. */
export function barOf(report: Report): Bar {
  const shares = known(known(report.page?.headline)?.shares);
  const segments = shares ? segmentsOf(shares) : [];
  const step = (known(report.steps)?.steady_count ?? 0) > 0;
  if (segments.length) return { of: 'device', step, segments };
  return { of: 'host', step: true, segments: hostSegments(report) };
}

export function whyNoDevice(report: Report): string | null {
  const headline = report.page?.headline;
  return whyAbsent(known(headline)?.shares) ?? whyAbsent(headline) ?? whyAbsent(report.timeline);
}

function spent(report: Report): string {
  const { of, step, segments } = barOf(report);
  const why = whyNoDevice(report);
  const [first] = segments;
  if (of === 'host' && first) {
    const { total_ms } = splitOf(segments);
    const reason = why ? `${why.charAt(0).toUpperCase()}${why.slice(1)}` : 'No device';
    return (
      `${reason}: the host sets the pace. ` +
      `The largest part of a step is ${first.text}, ${format.ms(first.ms)} of ${format.ms(total_ms)} ms.`
    );
  }
  if (!segments.length) {
    return why
      ? `Where a step goes is not known: ${why}.`
      : 'Where a step goes is not in this report.';
  }
  const { total_ms, work_ms, idle_ms } = splitOf(segments);
  const idle = segments.find((part) => part.idle);
  const work = segments.find((part) => !part.idle);
  const whole = step ? 'a step' : `the ${format.time(total_ms)} from its first to its last work`;
  const works = `The GPU works ${format.share(work_ms / total_ms)} of ${whole}`;
  if (idle && idle_ms >= 0.1 * total_ms) {
    const most = idle.ms >= 0.5 * idle_ms ? 'mostly' : 'most often';
    return `${works} and idles ${format.share(idle_ms / total_ms)}, ${most}: ${causeOf(idle.text)}.`;
  }
  if (work && work.id !== 'compute' && work.ms > 0.3 * total_ms) {
    return `${works}, but most of it is ${causeOf(work.text)}: ${format.ms(work.ms)} of ${format.ms(total_ms)} ms.`;
  }
  const worst = (known(report.findings) ?? []).find(
    (finding) => finding.severity === 'high' || finding.severity === 'medium',
  );
  return worst ? `${works}; what costs most: ${worst.title}.` : `${works}.`;
}

/** What a finding gives back, alone; null where no model says. */
export function gainText(finding: Finding): string | null {
  const alone = known(finding.speedup);
  if (alone === null) return null;
  return `${finding.at_most ? 'up to ' : ''}${format.speedup(alone)}`;
}

const MOST_NAMED = 3;

/** "finding 2", "findings 1, 3 and 4", "5 findings", as the text answer names them. */
function named(numbers: number[]): string {
  if (numbers.length > MOST_NAMED) return format.plural(numbers.length, 'finding');
  const last = numbers[numbers.length - 1] ?? '';
  const before = numbers.slice(0, -1).join(', ');
  return before ? `findings ${before} and ${last}` : `finding ${last}`;
}

/** Which findings the prediction has fixed, and which it leaves out. */
function fixedOf(faults: Finding[]): string {
  const numbers = faults.map((_, index) => index + 1);
  const has = (number: number) => known(faults[number - 1]?.predicted_step_ms) !== null;
  const counted = numbers.filter(has);
  const left = numbers.filter((number) => !has(number));
  if (left.length) {
    const them = left.length === 1 ? 'it' : 'them';
    return (
      `${named(counted)} fixed (${named(left)} not counted: ` +
      `the replay has no model of ${them})`
    );
  }
  if (counted.length === 1) return 'the finding below fixed';
  return `${counted.length === 2 ? 'both' : `all ${counted.length}`} findings fixed`;
}

/** What fixing everything would give, in the words of the text answer; null where nothing does. */
function offer(report: Report): string | null {
  const replay = known(report.replay);
  const together = known(replay?.together_ms);
  const faults = (known(report.findings) ?? []).filter((one) => !isRemark(one));
  if (!replay || !together || !faults.length) return null;
  const base = known(replay.bare_step_ms)?.likely ?? replay.measured_step_ms;
  if (together.likely >= base * 0.98) return null;
  return (
    `With ${fixedOf(faults)}: ${format.significant(base)} → ${format.significant(together.likely)} ms predicted ` +
    `(${format.significant(together.low)}–${format.significant(together.high)}), ` +
    `${format.speedup(base / together.likely)}.`
  );
}

/** What rounds more coarsely is no fix: it is offered beside them. */
function halfPrecision(report: Report): string | null {
  const replay = known(report.replay);
  const half = known(replay?.half_precision_ms);
  if (!half) return null;
  return (
    `Half precision is left to try: ${format.significant(half.likely)} ms predicted ` +
    `(${format.significant(half.low)}–${format.significant(half.high)}) under ` +
    `torch.autocast("cuda", torch.${replay?.half_precision_dtype ?? 'bfloat16'}); watch what it learns.`
  );
}

export function verdictOf(report: Report): string[] {
  return [spent(report), offer(report), halfPrecision(report)].filter(
    (text): text is string => text !== null,
  );
}
