// SPDX-License-Identifier: Apache-2.0
import { known, whyAbsent } from '../model/report.js';
import { usePage } from '../widgets/context.js';
import { Section } from '../widgets/parts.js';

/** Rules that lacked the data to look, gathered by what they lacked. Silence of a rule means that it
 *  looked. */
export function NotChecked() {
  const { report } = usePage();
  const list = known(report.not_checked);
  const byReason = new Map<string, string[]>();
  for (const rule of list ?? []) {
    byReason.set(rule.why, [...(byReason.get(rule.why) ?? []), rule.id]);
  }
  return (
    <Section title="Not checked" note="rules that lacked the data to look" id="not-checked">
      {list === null && <p>{whyAbsent(report.not_checked)}</p>}
      {list?.length === 0 && <p>Every rule looked.</p>}
      <ul class="plain">
        {[...byReason].map(([why, rules]) => (
          <li key={why}>
            <b>{rules.join(', ')}</b>
            <div class="sub">{why}</div>
          </li>
        ))}
      </ul>
    </Section>
  );
}
