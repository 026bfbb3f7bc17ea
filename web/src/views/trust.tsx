// SPDX-License-Identifier: Apache-2.0
// How far the figures can be believed: the verdict, why, and what of the trace was lost, counted.
import * as format from '../model/format.js';
import type { Loss } from '../model/report.js';
import { usePage } from '../widgets/context.js';
import { Section } from '../widgets/parts.js';

/** The verdict with a sign that reads without colour: full, half, empty. */
export function TrustMark() {
  const { verdict } = usePage().report.trust;
  const sign = verdict === 'good' ? '●' : verdict === 'partial' ? '◐' : '○';
  return (
    <span class={`trust trust-${verdict}`}>
      <span aria-hidden="true">{sign}</span> {verdict}
    </span>
  );
}

/** Why not to believe all of it, on the first screen, where there is a reason. */
export function Doubts() {
  const { reasons } = usePage().report.trust;
  if (!reasons.length) return null;
  return (
    <ul class="doubts">
      {reasons.map((reason) => (
        <li key={reason.text}>
          <b>lowers trust to {reason.lowers_to}:</b> {reason.text}
        </li>
      ))}
    </ul>
  );
}

function lossText(loss: Loss): string {
  const many = loss.count === null ? '' : `${format.count(loss.count)} `;
  const part = loss.time_share === null ? '' : ` (${format.share(loss.time_share)} of device time)`;
  return `${many}${loss.what}${part}`;
}

function LossItem({ loss }: { loss: Loss }) {
  return (
    <li>
      <span class={`tag tag-${loss.severity}`}>{format.words(loss.severity)}</span> {lossText(loss)}
      {loss.first && <code class="where"> first: {loss.first}</code>}
      {loss.help && <div class="sub">{loss.help}</div>}
    </li>
  );
}

export function TrustDetail() {
  const { report } = usePage();
  const { trust, trace } = report;
  const counts = Object.entries(trust.present)
    .filter((entry): entry is [string, number] => typeof entry[1] === 'number' && entry[1] > 0)
    .map(([name, value]) => `${format.count(value)} ${format.words(name)}`);
  const off = Object.entries(trace.settings)
    .filter(([, on]) => on === false)
    .map(([name]) => name);
  return (
    <Section title="Trust" note={<TrustMark />} id="trust">
      <ul class="plain">
        {trust.losses.map((loss) => (
          <LossItem key={loss.loss} loss={loss} />
        ))}
        {trust.losses.length === 0 && <li>Nothing of the trace was lost.</li>}
      </ul>
      <p class="sub">
        Read: {counts.length ? counts.join(', ') : 'no events'};{' '}
        {format.plural(trust.steps, 'step')}, {format.count(trust.steady_steps)} steady
        {trust.warm_up_inside ? '; warm-up lies inside the recording' : ''}.
        {off.length > 0 && ` Recorded without ${off.join(', ')}.`}
      </p>
      {trace.damaged && (
        <p class="bad">The file is damaged: only what stands before the damage was read.</p>
      )}
    </Section>
  );
}
