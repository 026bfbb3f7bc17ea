// SPDX-License-Identifier: Apache-2.0
// Communication: how much of it the device's other work hides, which collectives, which rank lags.
import { COLLECTIVES, RANKS } from '../model/columns.js';
import * as format from '../model/format.js';
import type { Comm as CommFacts, Ranks, Row } from '../model/report.js';
import { known, whyAbsent } from '../model/report.js';
import { StackBar } from '../widgets/bar.js';
import { usePage } from '../widgets/context.js';
import { Figures, Missing, Section, Value } from '../widgets/parts.js';
import { Table } from '../widgets/table.js';

export function Comm() {
  const { report } = usePage();
  const comm = known(report.comm);
  return (
    <>
      <Section title="Communication" note={comm?.backend ?? ''}>
        {comm ? (
          <>
            <Figures
              items={[
                { label: 'in collectives', value: format.time(comm.total_ms), note: spanOf(comm) },
                {
                  label: 'exposed',
                  value: <Value of={comm.exposed_ms} as={format.time} />,
                  title: 'nothing else ran on the device meanwhile',
                },
                {
                  label: 'overlapped',
                  value: (
                    <Value
                      of={comm.overlap_pct}
                      as={(value: number) => `${format.fixed(value, 1)} %`}
                    />
                  ),
                },
              ]}
            />
            <Overlap />
          </>
        ) : (
          <Missing
            what="Communication"
            why={whyAbsent(report.comm) ?? 'no collective in this trace'}
          />
        )}
      </Section>
      {comm && comm.collectives.length > 0 && (
        <Section title="Collectives" note="by kind, type, size and group">
          <Table
            id="collectives"
            what="collectives"
            rows={comm.collectives}
            columns={COLLECTIVES}
            groups={[
              { key: 'kind', label: 'collective' },
              { key: 'dtype', label: 'type' },
            ]}
          />
        </Section>
      )}
      <RanksSection />
    </>
  );
}

function spanOf(comm: CommFacts): string {
  return comm.steps ? format.plural(comm.steps, 'steady step') : 'whole trace';
}

function Overlap() {
  const { report } = usePage();
  const comm = known(report.comm);
  const total = comm?.total_ms ?? 0;
  const exposed = known(comm?.exposed_ms);
  if (!comm || exposed === null || total <= 0) return null;
  const hidden = Math.max(0, total - exposed);
  return (
    <>
      <StackBar
        label={`communication: ${format.ms(hidden)} ms behind compute, ${format.ms(exposed)} ms exposed`}
        total={total}
        parts={[
          {
            id: 'hidden',
            text: 'behind compute',
            ms: hidden,
            color: 'var(--c-comm)',
            pattern: 'solid',
          },
          {
            id: 'exposed',
            text: 'exposed',
            ms: exposed,
            color: 'var(--c-comm)',
            pattern: 'rising',
          },
        ]}
      />
      <p class="sub">
        {format.ms(total)} ms of the device had communication running ({spanOf(comm)});{' '}
        {format.ms(exposed)} ms of it ran alone.
      </p>
    </>
  );
}

function RanksSection() {
  const { report } = usePage();
  const ranks = known(report.ranks);
  if (!ranks) {
    const { rank, world_size } = report.trace;
    const one =
      rank !== null && world_size !== null && world_size > 1
        ? `this is rank ${rank} of ${world_size}; give hone the traces of all ranks to compare them`
        : 'one trace was read; give hone those of all ranks to compare them';
    return (
      <Section title="Ranks">
        <Missing what="Comparison of ranks" why={whyAbsent(report.ranks) ?? one} />
      </Section>
    );
  }
  return (
    <Section
      title="Ranks"
      note={`${ranks.count} traces; the rest of the page is about rank ${ranks.lead ?? '?'}`}
    >
      <Skew ranks={ranks} />
      <Table id="ranks" what="ranks" rows={ranks.list as unknown as Row[]} columns={RANKS} />
    </Section>
  );
}

function Skew({ ranks }: { ranks: Ranks }) {
  const skew = known(ranks.skew);
  if (!skew) return <Missing what="Skew" why={whyAbsent(ranks.skew) ?? 'no matched collectives'} />;
  const us = (value: number) => format.time(value / 1000);
  return (
    <>
      <Figures
        items={[
          { label: 'skew, mean', value: us(skew.mean_us), note: `p95 ${us(skew.p95_us)}` },
          { label: 'skew, max', value: us(skew.max_us) },
          {
            label: 'straggler',
            value: skew.straggler === null ? 'none' : `rank ${skew.straggler}`,
          },
          {
            label: 'matched',
            value: format.count(skew.matched),
            note: `${format.count(skew.unmatched)} unmatched`,
          },
          { label: 'clocks', value: skew.clocks_aligned ? 'agree' : 'disagree' },
        ]}
      />
      {skew.note && <p class="sub">{skew.note}</p>}
    </>
  );
}
