// SPDX-License-Identifier: Apache-2.0
// Every step, warm-up marked, and the critical path through one.
import { useMemo } from 'preact/hooks';
import uPlot from 'uplot';
import { CRITICAL } from '../model/columns.js';
import * as format from '../model/format.js';
import type { CriticalPath, Steps as StepsModel } from '../model/report.js';
import { known, whyAbsent } from '../model/report.js';
import type { Row } from '../model/report.js';
import type { ChartOptions } from '../widgets/chart.js';
import { Chart, axis, colorOf, levelLine, onDraw } from '../widgets/chart.js';
import { StackBar } from '../widgets/bar.js';
import { usePage } from '../widgets/context.js';
import { Figures, Missing, Section, Value } from '../widgets/parts.js';
import { Devices, IdleCauses } from './idle.js';
import { Table } from '../widgets/table.js';
import type { Pattern } from '../model/shares.js';

/** The number that the program gave the step, else its place. */
function numberOf(steps: StepsModel, at: number): string {
  const step = steps.list[at];
  return step ? String(step.number ?? at + 1) : '';
}

function options(steps: StepsModel): ChartOptions {
  const bars = uPlot.paths.bars;
  const median = known(steps.median_ms);
  const p95 = known(steps.p95_ms);
  const draws = [];
  if (median !== null) draws.push(levelLine(median, `median ${format.time(median)}`, '--text'));
  if (p95 !== null && p95 !== median) {
    draws.push(levelLine(p95, `p95 ${format.time(p95)}`, '--text-2', 'left'));
  }
  const path = bars ? { paths: bars({ size: [0.7, 40], gap: 1 }) } : {};
  const value = (_: uPlot, ms: number | null) => (ms === null ? format.UNKNOWN : format.time(ms));
  return {
    scales: {
      x: { time: false, range: (_, low, high) => [low - 0.6, high + 0.6] },
      y: { range: (_, _low, high) => [0, high * 1.12] },
    },
    axes: [
      axis('step', {
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000],
        values: (_, at) => at.map((one) => numberOf(steps, one)),
      }),
      axis('ms', { size: 52 }),
    ],
    series: [
      { label: 'step', value: (_, at) => (at === null ? '' : (steps.list[at]?.name ?? '')) },
      {
        label: 'steady',
        stroke: colorOf('--c-compute'),
        fill: colorOf('--c-compute'),
        ...path,
        points: { show: false },
        value,
      },
      {
        label: 'warm-up',
        stroke: colorOf('--warn'),
        fill: colorOf('--bg'),
        width: 1.5,
        ...path,
        points: { show: false },
        value,
      },
    ],
    cursor: { y: false, drag: { x: false, y: false } },
    plugins: [onDraw(...draws)],
  };
}

export function Steps() {
  const { report } = usePage();
  const steps = known(report.steps);
  const data = useMemo<uPlot.AlignedData>(() => {
    const list = steps?.list ?? [];
    return [
      list.map((_, index) => index),
      list.map((step) => (step.warm_up ? null : step.ms)),
      list.map((step) => (step.warm_up ? step.ms : null)),
    ];
  }, [steps]);
  if (!steps) {
    return (
      <>
        <Section title="Steps">
          <Missing what="Steps" why={whyAbsent(report.steps) ?? 'none were found'} />
        </Section>
        <IdleCauses />
        <Devices />
      </>
    );
  }
  return (
    <>
      <Section title="Steps" note={`found by: ${steps.source}`}>
        <Figures
          items={[
            { label: 'median', value: <Value of={steps.median_ms} as={format.time} /> },
            { label: 'p95', value: <Value of={steps.p95_ms} as={format.time} /> },
            { label: 'mean', value: <Value of={steps.mean_ms} as={format.time} /> },
            { label: 'fastest', value: <Value of={steps.min_ms} as={format.time} /> },
            { label: 'slowest', value: <Value of={steps.max_ms} as={format.time} /> },
            {
              label: 'steady',
              value: format.count(steps.steady_count),
              note: `of ${format.count(steps.count)}`,
            },
          ]}
        />
        {steps.list.length > 0 ? (
          <Chart
            data={data}
            height={260}
            options={() => options(steps)}
            label={`time of each of ${format.plural(steps.list.length, 'step')}, in ms`}
          />
        ) : (
          <p class="missing">The report lists no steps.</p>
        )}
        <p class="sub">
          Filled: steady. Outlined: warm-up, left out of every figure
          {steps.warm_up_count ? '' : ' (none here)'}.
        </p>
      </Section>
      <Critical />
      <IdleCauses />
      <Devices />
    </>
  );
}

const KIND_LOOK: Record<string, [string, Pattern]> = {
  input: ['var(--c-data)', 'rising'],
  host: ['var(--c-host)', 'falling'],
  launch: ['var(--c-sync)', 'rising'],
  compute: ['var(--c-compute)', 'solid'],
  copy: ['var(--c-copy)', 'solid'],
  communication: ['var(--c-comm)', 'solid'],
  sync: ['var(--c-sync)', 'falling'],
  'device-overhead': ['var(--c-other)', 'dots'],
};

function Critical() {
  const { report } = usePage();
  const path = known<CriticalPath>(report.critical_path);
  if (!path) {
    return (
      <Section title="Critical path">
        <Missing what="Critical path" why={whyAbsent(report.critical_path) ?? 'not replayed'} />
      </Section>
    );
  }
  const parts = path.kinds
    .filter((kind) => kind.ms > 0)
    .sort((a, b) => b.ms - a.ms)
    .map((kind) => {
      const [color, pattern] = KIND_LOOK[kind.kind] ?? (['var(--c-other)', 'dots'] as const);
      return { id: kind.kind, text: format.words(kind.kind), ms: kind.ms, color, pattern };
    });
  return (
    <Section
      title="Critical path"
      note={`${format.ms(path.length_ms)} ms a step: only what stands on it sets the pace`}
    >
      <StackBar parts={parts} total={path.length_ms} label="the critical path by kind" />
      <Table
        id="critical"
        what="stretches"
        rows={path.parts as unknown as Row[]}
        columns={CRITICAL}
        groups={[{ key: 'kind', label: 'kind' }]}
      />
    </Section>
  );
}
