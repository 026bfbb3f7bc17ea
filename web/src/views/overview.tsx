// SPDX-License-Identifier: Apache-2.0
// The first screen: verdict and trust, step time, where a step goes, what to do.
import { verdictOf } from '../model/verdict.js';
import { usePage } from '../widgets/context.js';
import { About } from './about.js';
import { Findings } from './findings.js';
import { Headline } from './headline.js';
import { NotChecked } from './not_checked.js';
import { Doubts, TrustDetail } from './trust.js';
import { WhatIfPanel } from './whatif.js';
import { WhereAStepGoes } from './where_step.js';

export function Overview() {
  const { report } = usePage();
  const [first, ...rest] = verdictOf(report);
  return (
    <div class="overview">
      <p class="verdict">
        <b>{first}</b> {rest.join(' ')}
      </p>
      <Headline />
      <Doubts />
      <WhereAStepGoes />
      <div class="screen">
        <Findings />
        <div class="side">
          <WhatIfPanel />
          <TrustDetail />
        </div>
        <div class="below">
          <NotChecked />
          <About />
        </div>
      </div>
    </div>
  );
}
