// SPDX-License-Identifier: Apache-2.0
// Switches that fix one thing each, and the step that the replay predicts for every set of them.
import * as format from '../model/format.js';
import type { Triple, WhatIf } from '../model/page.js';
import { known, whyAbsent } from '../model/report.js';
import { baseOf, commandFor, gainOf, marginOf, stepFor } from '../model/whatif.js';
import { usePage } from '../widgets/context.js';
import { CopyButton } from '../widgets/copy.js';
import { Missing, Section } from '../widgets/parts.js';

interface LineProps {
  name: string;
  range: Triple;
  most: number;
  kind: string;
}

/** One bar with its range as a whisker. */
function StepLine({ name, range: [low, likely, high], most, kind }: LineProps) {
  const at = (ms: number) => `${(ms / most) * 100}%`;
  const wide = high > low;
  return (
    <div class="step-line">
      <span class="name">{name}</span>
      <span class="track">
        <i class={`fill ${kind}`} style={{ width: at(likely) }} />
        {wide && <i class="whisker" style={{ left: at(low), width: at(high - low) }} />}
      </span>
      <span class="n value">
        <b>{format.significant(likely)} ms</b>
        {wide && <small>{` ${format.significant(low)}–${format.significant(high)}`}</small>}
      </span>
    </div>
  );
}

function Bars({ whatif, mask }: { whatif: WhatIf; mask: number }) {
  const measured: Triple = [whatif.measured_ms, whatif.measured_ms, whatif.measured_ms];
  const bare = known(whatif.bare_ms);
  const bareTriple: Triple | null = bare && [bare.low, bare.likely, bare.high];
  const step = mask ? stepFor(whatif, mask) : null;
  const none = stepFor(whatif, 0);
  const most = Math.max(whatif.measured_ms, bare?.high ?? 0, none?.[2] ?? 0, step?.[2] ?? 0) * 1.02;
  const fixed = format.plural(bits(mask), 'fix', 'fixes');
  return (
    <div class="step-lines">
      <StepLine name="measured" range={measured} most={most} kind="measured" />
      {bareTriple && whatif.recorder && (
        <StepLine name="no recorder" range={bareTriple} most={most} kind="bare" />
      )}
      {step && <StepLine name={`with ${fixed}`} range={step} most={most} kind="predicted" />}
    </div>
  );
}

function bits(mask: number): number {
  let left = mask;
  let set = 0;
  for (; left; left &= left - 1) set += 1;
  return set;
}

function Answer({ whatif, mask }: { whatif: WhatIf; mask: number }) {
  const gain = mask ? gainOf(whatif, mask) : null;
  if (!gain) return <p class="answer">Switch fixes on to see the predicted step.</p>;
  const [low, likely, high] = gain.ms;
  return (
    <p class="answer" aria-live="polite">
      {format.significant(baseOf(whatif))} → <b>{format.significant(likely)} ms</b> a step (
      {format.significant(low)}–{format.significant(high)}), <b>{format.speedup(gain.speedup)}</b>
    </p>
  );
}

function marginText(ms: number): string {
  if (Math.abs(ms) < 0.005) return '0 ms';
  return `${ms > 0 ? '−' : '+'}${format.ms(Math.abs(ms))} ms`;
}

function Switches({ whatif, mask }: { whatif: WhatIf; mask: number }) {
  const { patch } = usePage();
  return (
    <ul class="switches">
      {whatif.switches.map((one, bit) => {
        const margin = marginOf(whatif, mask, bit);
        const on = Boolean(mask & (1 << bit));
        return (
          <li key={one.id}>
            <label>
              <input
                type="checkbox"
                checked={on}
                onChange={() => patch({ fix: mask ^ (1 << bit) })}
              />
              <span>
                {one.what}
                <small>
                  {one.id}
                  {one.scope ? ` · ${one.scope}` : ''}
                </small>
              </span>
              {margin !== null && (
                <span class="n" title={on ? 'what it gives now' : 'what it would give on top'}>
                  {marginText(margin)}
                </span>
              )}
            </label>
          </li>
        );
      })}
    </ul>
  );
}

export function WhatIfPanel() {
  const { report, state, patch } = usePage();
  const whatif = known(report.page?.whatif);
  if (!whatif) {
    const why = whyAbsent(report.page?.whatif) ?? whyAbsent(report.replay);
    return (
      <Section title="What if" id="whatif">
        <Missing what="Predictions" why={why ?? 'the report holds none'} />
      </Section>
    );
  }
  const all = 2 ** whatif.switches.length - 1;
  const mask = state.fix & all;
  const command = commandFor(whatif, mask, report.trace.path);
  return (
    <Section title="What if" note="each set of fixes was replayed" id="whatif">
      <Answer whatif={whatif} mask={mask} />
      <Bars whatif={whatif} mask={mask} />
      {whatif.switches.length === 0 && <p>No fix that hone can replay applies to this trace.</p>}
      <Switches whatif={whatif} mask={mask} />
      <p class="noprint tools">
        <button
          type="button"
          class="small"
          disabled={mask === all}
          onClick={() => patch({ fix: all })}
        >
          fix all
        </button>
        <button type="button" class="small" disabled={!mask} onClick={() => patch({ fix: 0 })}>
          fix none
        </button>
        {command && <CopyButton label="copy as command" title={command} text={() => command} />}
      </p>
      <p class="sub">{replayText(whatif)}</p>
      <More whatif={whatif} />
    </Section>
  );
}

/** As the text answer says it: an error below a tenth of a percent is given as that. */
function replayText(whatif: WhatIf): string {
  const error = Math.max(0.1, Math.ceil(Math.abs(whatif.error_pct) * 10) / 10);
  const recorder = whatif.recorder
    ? ` ${whatif.recorder.charAt(0).toUpperCase()}${whatif.recorder.slice(1)}; gains count from the step without it.`
    : '';
  return `The replay reproduces the measured step within ${format.fixed(error, 1)} %.${recorder}`;
}

function More({ whatif }: { whatif: WhatIf }) {
  if (!whatif.more.length) return null;
  return (
    <details class="more">
      <summary>{format.plural(whatif.more.length, 'more fix', 'more fixes')}, each alone</summary>
      <ul class="switches">
        {whatif.more.map((one) => (
          <li key={one.id}>
            {one.what}: <span class="n">{format.significant(one.ms[1])} ms</span>{' '}
            <small>
              {format.significant(one.ms[0])}–{format.significant(one.ms[2])} · {one.id}
            </small>
          </li>
        ))}
      </ul>
    </details>
  );
}
