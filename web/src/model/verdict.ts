// SPDX-License-Identifier: Apache-2.0
// The first sentence of the page: what a step is spent on, and what could be had.
import * as format from './format.js';
import type { Finding, Report } from './report.js';
import { known, whyAbsent } from './report.js';
import type { Segment } from './shares.js';
import { segmentsOf, splitOf } from './shares.js';

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

export function segmentsOfReport(report: Report): Segment[] {
  const headline = known(report.page?.headline);
  const shares = known(headline?.shares);
  return shares ? segmentsOf(shares) : [];
}

function spent(report: Report): string {
  const segments = segmentsOfReport(report);
  if (!segments.length) {
    const why =
      whyAbsent(known(report.page?.headline)?.shares) ??
      whyAbsent(report.page?.headline) ??
      whyAbsent(report.timeline);
    return why
      ? `Where a step goes is not known: ${why}.`
      : 'Where a step goes is not in this report.';
  }
  const { total_ms, work_ms, idle_ms } = splitOf(segments);
  const idle = segments.find((part) => part.idle);
  const work = segments.find((part) => !part.idle);
  const works = `The GPU works ${format.share(work_ms / total_ms)} of a step`;
  if (idle && idle_ms >= 0.1 * total_ms) {
    const most = idle.ms >= 0.5 * idle_ms ? 'mostly' : 'most often';
    return `${works} and idles ${format.share(idle_ms / total_ms)}, ${most}: ${causeOf(idle.text)}.`;
  }
  if (work && work.id !== 'compute' && work.ms > 0.3 * total_ms) {
    return `${works}, but most of it is ${causeOf(work.text)}: ${format.ms(work.ms)} of ${format.ms(total_ms)} ms.`;
  }
  return `${works}.`;
}

/** What fixing everything would give, in the words of the text answer; null where nothing does. */
function offer(report: Report): string | null {
  const replay = known(report.replay);
  const together = known(replay?.together_ms);
  const faults = (known(report.findings) ?? []).filter((one) => !isRemark(one));
  if (!replay || !together || !faults.length) return null;
  const base = known(replay.bare_step_ms)?.likely ?? replay.measured_step_ms;
  if (together.likely >= base * 0.98) return null;
  const all =
    faults.length === 1
      ? 'With the finding below fixed'
      : `With all ${faults.length} findings fixed`;
  return (
    `${all}: ${format.significant(base)} → ${format.significant(together.likely)} ms predicted ` +
    `(${format.significant(together.low)}–${format.significant(together.high)}), ` +
    `${format.speedup(base / together.likely)}.`
  );
}

export function verdictOf(report: Report): string[] {
  return [spent(report), offer(report)].filter((text): text is string => text !== null);
}
