// SPDX-License-Identifier: Apache-2.0
// Counters of the machine, one small chart each, with one cursor for all.
import { useMemo } from 'preact/hooks';
import type uPlot from 'uplot';
import * as format from '../model/format.js';
import type { Counter } from '../model/page.js';
import { known, whyAbsent } from '../model/report.js';
import type { ChartOptions } from '../widgets/chart.js';
import { BYTE_TICKS, Chart, axis, colorOf } from '../widgets/chart.js';
import { usePage } from '../widgets/context.js';
import { Missing, Section } from '../widgets/parts.js';

function valueText(value: number, unit: string | null): string {
  if (unit === 'bytes' || unit === 'bytes/s') return format.bytes(value) + unit.slice(5);
  return `${format.significant(value)} ${unit ?? ''}`.trim();
}

/** An axis has the unit in its caption, and no room. */
function tickText(value: number, unit: string | null): string {
  return unit?.startsWith('bytes') ? format.bytes(value) : String(Number(value.toPrecision(3)));
}

/** The unit stands beside the values: a name need not say it again. */
function nameOf(counter: Counter): string {
  return format.words((counter.series || counter.track).replace(/_(seconds|usec|bytes)$/, ''));
}

function options(counter: Counter): ChartOptions {
  return {
    scales: {
      x: { time: false },
      y: { range: (_, low, high) => [Math.min(0, low), high * 1.1 || 1] },
    },
    axes: [
      axis('s', { labelSize: 0, size: 24 }),
      axis('', {
        size: 62,
        labelSize: 0,
        values: (_, values) => values.map((value) => tickText(value, counter.unit)),
        ...(counter.unit?.startsWith('bytes') ? { incrs: BYTE_TICKS } : {}),
      }),
    ],
    series: [
      { label: 's', value: (_, at) => (at === null ? format.UNKNOWN : format.fixed(at, 3)) },
      {
        label: nameOf(counter),
        stroke: colorOf('--c-compute'),
        width: 1.25,
        points: { show: counter.value.length < 40, size: 4 },
        value: (_, value) => (value === null ? format.UNKNOWN : valueText(value, counter.unit)),
      },
    ],
    cursor: { y: false, sync: { key: 'counters' } },
  };
}

function CounterChart({ counter }: { counter: Counter }) {
  const data = useMemo<uPlot.AlignedData>(
    () => [counter.time_ns.map((ns) => ns / 1e9), counter.value],
    [counter],
  );
  const last = counter.value[counter.value.length - 1];
  const most = counter.value.reduce((a, b) => Math.max(a, b), -Infinity);
  const least = counter.value.reduce((a, b) => Math.min(a, b), Infinity);
  const note =
    last === undefined
      ? 'no points'
      : `${valueText(least, counter.unit)} to ${valueText(most, counter.unit)}`;
  return (
    <figure class="counter">
      <figcaption>
        <b>{nameOf(counter)}</b> <span class="note">{note}</span>
      </figcaption>
      <Chart
        data={data}
        height={150}
        options={() => options(counter)}
        label={`${counter.track} ${counter.series}: ${note}`}
      />
    </figure>
  );
}

/** A counter that never changes is a number, not a chart. */
function moves(counter: Counter): boolean {
  return counter.value.some((value) => value !== counter.value[0]);
}

function Still({ list }: { list: Counter[] }) {
  if (!list.length) return null;
  const said = list.map((counter) => {
    const [value] = counter.value;
    const text = value === undefined ? 'no points' : valueText(value, counter.unit);
    return `${nameOf(counter)} ${text}`;
  });
  return <p class="sub">The same throughout: {said.join('; ')}.</p>;
}

export function Counters() {
  const { report } = usePage();
  const counters = known(report.page?.counters);
  if (!counters?.length) {
    const why =
      whyAbsent(report.page?.counters) ??
      'this recording holds no machine counters; hone run records them';
    return (
      <Section title="Machine">
        <Missing what="Machine counters" why={why} />
      </Section>
    );
  }
  const tracks = new Map<string, Counter[]>();
  for (const counter of counters) {
    tracks.set(counter.track, [...(tracks.get(counter.track) ?? []), counter]);
  }
  return (
    <>
      {[...tracks].map(([track, list]) => (
        <Section key={track} title={track} note={format.plural(list.length, 'series', 'series')}>
          <div class="counters">
            {list.filter(moves).map((counter) => (
              <CounterChart key={counter.series} counter={counter} />
            ))}
          </div>
          <Still list={list.filter((counter) => !moves(counter))} />
        </Section>
      ))}
    </>
  );
}
