// SPDX-License-Identifier: Apache-2.0
// What to do, best first.
import * as format from '../model/format.js';
import { known, whyAbsent } from '../model/report.js';
import { isRemark } from '../model/verdict.js';
import { usePage } from '../widgets/context.js';
import { Section } from '../widgets/parts.js';
import { FindingItem, Remark } from './finding.js';

/** The first ones are open, the rest show their line: five are read, ten are skimmed. */
const OPEN = 3;

export function Findings() {
  const { report } = usePage();
  const list = known(report.findings);
  if (!list) {
    return (
      <Section title="What to do">
        <p>{whyAbsent(report.findings)}</p>
      </Section>
    );
  }
  const faults = list.filter((finding) => !isRemark(finding));
  const unchecked = known(report.not_checked)?.length ?? 0;
  let number = 0;
  return (
    <Section
      title="What to do"
      note={faults.length ? 'best first; gains do not add up' : ''}
      id="findings"
    >
      {!list.length && (
        <p>
          No rule that had its data found anything to change
          {unchecked > 0 ? `; ${format.plural(unchecked, 'rule')} could not look (below)` : ''}.
        </p>
      )}
      <ol class="findings">
        {list.map((finding, index) => {
          if (isRemark(finding)) return <Remark key={index} finding={finding} />;
          number += 1;
          return (
            <FindingItem
              key={index}
              finding={finding}
              index={index}
              number={number}
              open={number <= OPEN}
            />
          );
        })}
      </ol>
    </Section>
  );
}
