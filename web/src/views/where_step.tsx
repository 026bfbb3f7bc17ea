// SPDX-License-Identifier: Apache-2.0
// Where each millisecond of a step goes: one bar, under a bracket that splits work from waiting.
import * as format from '../model/format.js';
import { known } from '../model/report.js';
import type { Segment } from '../model/shares.js';
import { splitOf } from '../model/shares.js';
import { barOf, causeOf, whyNoDevice } from '../model/verdict.js';
import { StackBar, Swatch } from '../widgets/bar.js';
import { usePage } from '../widgets/context.js';
import { Missing, Section } from '../widgets/parts.js';

function Bracket({ segments }: { segments: Segment[] }) {
  const { total_ms, work_ms, idle_ms } = splitOf(segments);
  const side = (name: string, ms: number, cls: string) =>
    ms > 0 && (
      <div class={`bracket ${cls}`} style={{ width: `${(ms / total_ms) * 100}%` }}>
        <span>
          <b>{name}</b> {format.ms(ms)} ms · {format.share(ms / total_ms)}
        </span>
      </div>
    );
  return (
    <div class="brackets" aria-hidden="true">
      {side('GPU works', work_ms, 'works')}
      {side('GPU idles', idle_ms, 'idles')}
    </div>
  );
}

export function WhereAStepGoes() {
  const { report } = usePage();
  const { of, step, segments } = barOf(report);
  const title = step ? 'Where a step goes' : 'Where the time of the device goes';
  if (!segments.length) {
    return (
      <Section title={title}>
        <Missing what="Shares of a step" why={whyNoDevice(report) ?? 'the report holds none'} />
      </Section>
    );
  }
  const { total_ms } = splitOf(segments);
  const steady = known(report.steps)?.steady_count ?? 0;
  const over = step
    ? `mean of ${format.plural(steady, 'steady step')}`
    : 'first to last work; no steps found';
  const note = `${format.ms(total_ms)} ms, ${of === 'device' ? over : 'along the critical path of the host'}`;
  const said = segments.map((part) => `${part.text} ${format.ms(part.ms)} ms`).join(', ');
  return (
    <Section title={title} note={note}>
      {of === 'device' && <Bracket segments={segments} />}
      <StackBar
        label={`${step ? 'a step' : 'the time'} of ${format.ms(total_ms)} ms: ${said}`}
        total={total_ms}
        parts={segments.map((part) => ({
          id: part.id,
          text: causeOf(part.text),
          ms: part.ms,
          color: part.look.color,
          pattern: part.look.pattern,
        }))}
      />
      <ul class="legend">
        {segments.map((part) => (
          <li key={part.id}>
            <Swatch color={part.look.color} pattern={part.look.pattern} />
            <span>{part.idle ? `idle: ${causeOf(part.text)}` : part.text}</span>
            <b class="n">{format.ms(part.ms)} ms</b>
            <span class="n dim">{format.share(part.ms / total_ms)}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
