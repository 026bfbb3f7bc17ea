// SPDX-License-Identifier: Apache-2.0
// One finding: what it gives back, why we say so, where, and what to type.
import { useEffect, useState } from 'preact/hooks';
import * as format from '../model/format.js';
import type { Place } from '../model/page.js';
import type { Finding, Where } from '../model/report.js';
import { isAbsent, known, whyAbsent } from '../model/report.js';
import { gainText } from '../model/verdict.js';
import { maskOf } from '../model/whatif.js';
import { usePage } from '../widgets/context.js';
import { CopyButton } from '../widgets/copy.js';
import { usePrinting } from '../widgets/printing.js';

/** Shown where it differs by more than this from the gain alone (docs/user/findings.md). */
const AFTER_DIFFERS = 0.05;
const PLACES_SHOWN = 4;

function Gain({ finding, number }: { finding: Finding; number: number }) {
  const alone = known(finding.speedup);
  const after = known(finding.speedup_after);
  const saved = known(finding.recoverable_ms);
  if (alone === null) {
    return (
      <span class="gain">
        <abbr title={whyAbsent(finding.speedup) ?? 'no model'}>{format.UNKNOWN}</abbr>
      </span>
    );
  }
  const differs = after !== null && Math.abs(after / alone - 1) > AFTER_DIFFERS && number > 1;
  const above = number > 2 ? `1–${number - 1}` : '1';
  return (
    <span class="gain">
      <b>{gainText(finding)}</b>
      {saved !== null && <span class="sub">−{format.ms(saved)} ms</span>}
      {differs && <span class="sub">{`${format.speedup(after)} after ${above}`}</span>}
    </span>
  );
}

function whereText(where: Where): string {
  const parts = [where.source, where.op, where.kernel, where.thread, where.step];
  return parts.filter((part) => part !== null && part !== undefined && part !== '').join(' · ');
}

function around(place: Place, span: number): [number, number] {
  const length = Math.max(place.end_ns - place.start_ns, 1000);
  return [Math.max(0, place.start_ns - 0.3 * length), Math.min(span, place.end_ns + 0.3 * length)];
}

function Places({ index }: { index: number }) {
  const { report, patch } = usePage();
  const page = report.page;
  const places = page?.places[index] ?? [];
  if (!page || !places.length || isAbsent(page.timeline)) return null;
  const jump = (place: Place) =>
    patch({
      tab: 'timeline',
      finding: index,
      window: around(place, page.span_ns),
      row: null,
      search: '',
    });
  const same = places.every((place) => place.text === places[0]?.text);
  return (
    <p class="places noprint">
      {places.slice(0, PLACES_SHOWN).map((place, at) => (
        <button
          type="button"
          class="small"
          key={at}
          title={place.text}
          aria-label={`show in timeline: ${place.text}, place ${at + 1}`}
          onClick={() => jump(place)}
        >
          {at === 0 ? `show in timeline: ${place.text}` : same ? `again, ${at + 1}` : place.text}
        </button>
      ))}
    </p>
  );
}

function FixSwitch({ finding }: { finding: Finding }) {
  const { report, state, patch } = usePage();
  const whatif = known(report.page?.whatif);
  const mask = whatif ? maskOf(whatif, finding.fix) : 0;
  if (!mask) return null;
  const on = (state.fix & mask) === mask;
  return (
    <label class="fix noprint" title="the same switch as under What if">
      <input
        type="checkbox"
        checked={on}
        onChange={() => patch({ fix: on ? state.fix & ~mask : state.fix | mask })}
      />
      what if fixed
    </label>
  );
}

function Body({ finding, index }: { finding: Finding; index: number }) {
  const range = known(finding.predicted_step_ms);
  const why = whyAbsent(finding.predicted_step_ms);
  const places = finding.where.map(whereText).filter(Boolean);
  const code = finding.remedy?.trimEnd() ?? '';
  return (
    <div class="finding-body">
      <ul class="evidence">
        {finding.evidence.map((text) => (
          <li key={text}>{text}</li>
        ))}
        {range && (
          <li>
            predicted step {format.significant(range.likely)} ms ({format.significant(range.low)}–
            {format.significant(range.high)})
          </li>
        )}
        {why && <li>no prediction: {why}</li>}
        {finding.same_cause.length > 0 && <li>also seen as: {finding.same_cause.join(', ')}</li>}
      </ul>
      {places.map((text) => (
        <p class="where" key={text}>
          <code>{text}</code>
        </p>
      ))}
      {code && (
        <div class="code">
          <pre>
            <code>{code}</code>
          </pre>
          <CopyButton label="copy" title={`copy the code for ${finding.id}`} text={() => code} />
        </div>
      )}
      <Places index={index} />
      <p class="finding-foot">
        <code>{finding.docs}</code>
        <FixSwitch finding={finding} />
      </p>
    </div>
  );
}

interface Props {
  finding: Finding;
  index: number;
  number: number;
  open: boolean;
}

export function FindingItem({ finding, index, number, open }: Props) {
  const printing = usePrinting();
  const { state } = usePage();
  const [shown, setShown] = useState(open || state.finding === index);
  useEffect(() => {
    if (state.finding === index) document.getElementById(`finding-${index}`)?.scrollIntoView();
  }, []);
  return (
    <li id={`finding-${index}`} class={`finding sev-${finding.severity}`}>
      <details
        open={shown || printing}
        onToggle={(event) => !printing && setShown(event.currentTarget.open)}
      >
        <summary>
          <span class="number">{number}</span>
          <span class="title">{finding.title}</span>
          <Gain finding={finding} number={number} />
          <span class="sure">
            <span class="sub">sure</span> {finding.confidence}
          </span>
          <span class="effort">
            <span class="sub">effort</span> {finding.effort}
          </span>
        </summary>
        <Body finding={finding} index={index} />
      </details>
    </li>
  );
}

/** A sentence of the report that is no fault of the program. */
export function Remark({ finding }: { finding: Finding }) {
  return (
    <li class="remark">
      <p>
        {finding.title}. <span class="sub">{finding.evidence.join('; ')}.</span>
      </p>
    </li>
  );
}
