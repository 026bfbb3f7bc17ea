// SPDX-License-Identifier: Apache-2.0
// Memory over time, and what was alive at the peak.
import { useMemo } from 'preact/hooks';
import uPlot from 'uplot';
import * as format from '../model/format.js';
import type { MemoryDevice } from '../model/report.js';
import { known, whyAbsent } from '../model/report.js';
import type { ChartOptions, Draw } from '../widgets/chart.js';
import { BYTE_TICKS, Chart, axis, colorOf, label, onDraw } from '../widgets/chart.js';
import { usePage } from '../widgets/context.js';
import { Figures, Missing, Section, Value } from '../widgets/parts.js';
import { AtPeak, LinesAtPeak, nameOf } from './memory_owners.js';

/** Less than this is no course worth drawing: a few scalars that come and go. */
const DRAWN_BYTES = 1 << 20;

function peakMark(device: MemoryDevice): Draw {
  return (plot, context) => {
    if (device.peak_at_ms === null || device.peak_allocated_bytes === null) return;
    const x = plot.valToPos(device.peak_at_ms, 'x', true);
    const y = plot.valToPos(device.peak_allocated_bytes, 'y', true);
    const ratio = devicePixelRatio;
    context.fillStyle = colorOf('--text');
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x - 5 * ratio, y - 9 * ratio);
    context.lineTo(x + 5 * ratio, y - 9 * ratio);
    context.fill();
    const right = x > plot.bbox.left + plot.bbox.width * 0.7;
    const text = `peak ${format.bytes(device.peak_allocated_bytes)}`;
    label(
      context,
      text,
      x + (right ? -9 : 9) * ratio,
      y - 4 * ratio,
      right ? 'right' : 'left',
      '--text',
    );
  };
}

/** Borders of steps: thin lines, so that one sees what comes again each step. */
function stepMarks(starts: number[]): Draw {
  return (plot, context) => {
    if (starts.length > 200) return;
    context.strokeStyle = colorOf('--line');
    context.lineWidth = devicePixelRatio;
    for (const start of starts) {
      const x = Math.round(plot.valToPos(start, 'x', true)) + 0.5;
      context.beginPath();
      context.moveTo(x, plot.bbox.top);
      context.lineTo(x, plot.bbox.top + plot.bbox.height);
      context.stroke();
    }
  };
}

function options(device: MemoryDevice, starts: number[]): ChartOptions {
  const step = uPlot.paths.stepped?.({ align: 1 });
  const path = step ? { paths: step } : {};
  const value = (_: uPlot, size: number | null) =>
    size === null ? format.UNKNOWN : format.bytes(size);
  return {
    scales: { x: { time: false }, y: { range: (_, _low, high) => [0, high * 1.12 || 1] } },
    axes: [
      axis('ms'),
      axis('', {
        size: 72,
        incrs: BYTE_TICKS,
        labelSize: 0,
        values: (_, ticks) => ticks.map((tick) => format.bytes(tick)),
      }),
    ],
    series: [
      { label: 'ms', value: (_, at) => (at === null ? format.UNKNOWN : format.fixed(at, 2)) },
      {
        label: 'allocated',
        stroke: colorOf('--c-compute'),
        fill: `${colorOf('--c-compute')}33`,
        width: 1.25,
        points: { show: false },
        ...path,
        value,
      },
      {
        label: 'reserved',
        stroke: colorOf('--c-data'),
        dash: [5, 3],
        width: 1.25,
        points: { show: false },
        ...path,
        value,
      },
    ],
    cursor: { y: false },
    plugins: [onDraw(stepMarks(starts), peakMark(device))],
  };
}

function DeviceMemory({ device, begin }: { device: MemoryDevice; begin: number | null }) {
  const { report } = usePage();
  const steps = known(report.page?.steps);
  const starts = begin === null ? [] : (steps ?? []).map((step) => (step.start_ns - begin) / 1e6);
  const data = useMemo<uPlot.AlignedData>(
    () => [
      device.timeline.map((point) => point.ms),
      device.timeline.map((point) => point.allocated_bytes),
      device.timeline.map((point) => (device.peak_reserved_bytes ? point.reserved_bytes : null)),
    ],
    [device],
  );
  const peak = device.peak_allocated_bytes;
  return (
    <Section
      title={`Memory of ${nameOf(device).replace('gpu', 'GPU')}`}
      note={
        device.relative
          ? 'counted from the start of the trace: what was there before is not known'
          : ''
      }
    >
      <Figures
        items={[
          {
            label: 'peak allocated',
            value: <Value of={peak} as={format.bytes} />,
            note: device.capacity_bytes ? `of ${format.bytes(device.capacity_bytes)}` : '',
          },
          {
            label: 'peak reserved',
            value: <Value of={device.peak_reserved_bytes} as={format.bytes} />,
          },
          {
            label: 'before the trace',
            value: <Value of={device.allocated_before_bytes} as={format.bytes} />,
          },
          {
            label: 'fragmentation',
            value: <Value of={device.fragmentation} as={format.share} />,
            title: 'reserved and not allocated at the peak',
          },
          {
            label: 'growth a step',
            value: <Value of={device.growth_per_step_bytes} as={format.bytes} />,
          },
          {
            label: 'allocations',
            value: format.count(device.allocations),
            note: `${format.count(device.frees)} freed`,
          },
        ]}
      />
      {device.timeline.length > 1 && (peak ?? 0) >= DRAWN_BYTES ? (
        <Chart
          data={data}
          height={280}
          options={() => options(device, starts)}
          label={`allocated memory of ${nameOf(device)} over time`}
        />
      ) : (
        <p class="missing">
          Never as much as {format.bytes(DRAWN_BYTES)}: there is no course worth drawing.
        </p>
      )}
    </Section>
  );
}

export function Memory() {
  const { report } = usePage();
  const memory = known(report.memory);
  if (!memory) {
    return (
      <Section title="Memory">
        <Missing what="Memory" why={whyAbsent(report.memory) ?? 'not recorded'} />
      </Section>
    );
  }
  return (
    <>
      {memory.devices.map((device, index) => (
        <DeviceMemory
          key={nameOf(device)}
          device={device}
          begin={report.page?.memory_begin_ns?.[index] ?? null}
        />
      ))}
      <AtPeak memory={memory} />
      <LinesAtPeak memory={memory} />
    </>
  );
}
