// SPDX-License-Identifier: Apache-2.0
// Data loading: who fetches, how long a fetch takes, and what of it the device waits for.
import * as format from '../model/format.js';
import type { Loader as Model, Report } from '../model/report.js';
import { known, whyAbsent } from '../model/report.js';
import { StackBar } from '../widgets/bar.js';
import { usePage } from '../widgets/context.js';
import { Figures, Missing, Section, Value } from '../widgets/parts.js';

const MODES: Record<string, string> = {
  'in-process': 'the main process fetches batches itself; the device waits meanwhile',
  workers: 'worker processes fetch; the main process takes what is ready',
  unknown: 'the trace does not show who fetches',
};

function InAStep({ report, loader }: { report: Report; loader: Model }) {
  const step = known(known(report.steps)?.mean_ms) ?? known(known(report.steps)?.median_ms);
  const fetch = known(loader.per_step_ms);
  if (step === null || fetch === null) return null;
  return (
    <StackBar
      label={`${format.ms(fetch)} ms of a step of ${format.ms(step)} ms are spent fetching`}
      total={Math.max(step, fetch)}
      parts={[
        { id: 'fetch', text: 'fetching', ms: fetch, color: 'var(--c-data)', pattern: 'rising' },
        {
          id: 'rest',
          text: 'rest of the step',
          ms: Math.max(0, step - fetch),
          color: 'var(--c-other)',
          pattern: 'empty',
        },
      ]}
    />
  );
}

export function Loader() {
  const { report } = usePage();
  const loader = known(report.loader);
  if (!loader) {
    return (
      <Section title="Data loading">
        <Missing what="Data loading" why={whyAbsent(report.loader) ?? 'no loader'} />
      </Section>
    );
  }
  const steady = known(report.steps)?.steady_count ?? 0;
  const idle = known(loader.device_idle_ms);
  return (
    <Section title="Data loading" note={MODES[loader.mode] ?? loader.mode}>
      <Figures
        items={[
          { label: 'mode', value: loader.mode, title: MODES[loader.mode] ?? '' },
          {
            label: 'fetching, a step',
            value: <Value of={loader.per_step_ms} as={format.time} />,
            note: (
              <Value
                of={loader.step_share}
                as={(value: number) => `${format.share(value)} of it`}
              />
            ),
          },
          {
            label: 'device idle for it',
            value:
              idle === null ? (
                <Value of={loader.device_idle_ms} as={format.time} />
              ) : (
                format.time(steady ? idle / steady : idle)
              ),
            note: steady ? 'a step' : 'whole trace',
          },
          { label: 'a fetch, mean', value: <Value of={loader.mean_ms} as={format.time} /> },
          { label: 'p95', value: <Value of={loader.p95_ms} as={format.time} /> },
          { label: 'max', value: <Value of={loader.max_ms} as={format.time} /> },
          { label: 'fetches', value: format.count(loader.fetches) },
        ]}
      />
      <InAStep report={report} loader={loader} />
      {loader.iterator && (
        <p class="sub">
          Seen as <code>{loader.iterator}</code>
        </p>
      )}
    </Section>
  );
}
