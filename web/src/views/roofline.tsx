// SPDX-License-Identifier: Apache-2.0
// The roofline: how close each operator comes to what the device could do. Drawn by hand over
// uPlot's axes; size is time, shape is what binds, so that it reads without colour.
import { useMemo, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import * as format from '../model/format.js';
import type { Roof, RoofPoint } from '../model/roofline.js';
import { memoryRoof } from '../model/roofline.js';
import type { ChartOptions, Draw } from '../widgets/chart.js';
import { Chart, axis, colorOf, label, onDraw } from '../widgets/chart.js';

/** Radius in CSS pixels: the area is the share of time. */
function radiusOf(point: RoofPoint, mostMs: number): number {
  return 3 + 9 * Math.sqrt(point.row.device_ms / mostMs);
}

function drawRoof(roof: Roof): Draw {
  return (plot, context) => {
    const { left, width } = plot.bbox;
    const low = plot.posToVal(0, 'x');
    const high = plot.posToVal(width / devicePixelRatio, 'x');
    const best = Math.max(...roof.ceilings.map((ceiling) => ceiling.tflops), 0);
    context.lineWidth = 1.25 * devicePixelRatio;
    const line = (x0: number, y0: number, x1: number, y1: number) => {
      context.strokeStyle = colorOf('--text-2');
      context.beginPath();
      context.moveTo(plot.valToPos(x0, 'x', true), plot.valToPos(y0, 'y', true));
      context.lineTo(plot.valToPos(x1, 'x', true), plot.valToPos(y1, 'y', true));
      context.stroke();
    };
    if (roof.gbytes_per_s) {
      const knee = best ? (best * 1000) / roof.gbytes_per_s : high;
      line(low, memoryRoof(roof.gbytes_per_s, low), knee, memoryRoof(roof.gbytes_per_s, knee));
      const at = Math.sqrt(low * knee);
      const x = plot.valToPos(at, 'x', true);
      const y = plot.valToPos(memoryRoof(roof.gbytes_per_s, at), 'y', true);
      label(
        context,
        `memory ${format.count(roof.gbytes_per_s)} GB/s`,
        x - 8,
        y - 8,
        'right',
        '--text-2',
      );
    }
    for (const ceiling of roof.ceilings) {
      const knee = roof.gbytes_per_s ? (ceiling.tflops * 1000) / roof.gbytes_per_s : low;
      line(Math.max(low, knee), ceiling.tflops, high, ceiling.tflops);
      const y = plot.valToPos(ceiling.tflops, 'y', true);
      const text = `${ceiling.name} ${format.significant(ceiling.tflops)} TFLOP/s`;
      label(context, text, left + width - 6, y - 5, 'right', '--text-2');
    }
  };
}

function drawPoints(roof: Roof, picked: RoofPoint | null): Draw {
  return (plot, context) => {
    const most = roof.points[0]?.row.device_ms ?? 1;
    for (const point of [...roof.points].reverse()) {
      const x = plot.valToPos(point.intensity, 'x', true);
      const y = plot.valToPos(point.tflops, 'y', true);
      const radius = radiusOf(point, most) * devicePixelRatio;
      const memory = point.row.bound === 'memory';
      const color = colorOf(memory ? '--c-data' : '--c-compute');
      context.beginPath();
      if (memory) context.rect(x - radius * 0.87, y - radius * 0.87, radius * 1.74, radius * 1.74);
      else context.arc(x, y, radius, 0, 7);
      context.fillStyle = `${color}66`;
      context.fill();
      context.lineWidth = (point === picked ? 3 : 1) * devicePixelRatio;
      context.strokeStyle = point === picked ? colorOf('--text') : color;
      context.stroke();
    }
  };
}

function decades(low: number, high: number): [number, number] {
  return [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))];
}

/** How far below the roof a point still stands in the plot; what is lower stands at its foot. */
const DEPTH = 1e6;

function rangesOf(roof: Roof): { x: [number, number]; y: [number, number] } {
  const xs = roof.points.map((point) => point.intensity);
  const ys = roof.points.map((point) => point.tflops);
  const tops = roof.ceilings.map((ceiling) => ceiling.tflops);
  const top = Math.max(...ys, ...tops) * 1.05;
  return {
    x: decades(Math.min(...xs, 0.1), Math.max(...xs, 1000)),
    y: decades(Math.max(Math.min(...ys), top / DEPTH), top),
  };
}

const ticks = (_: uPlot, values: number[]) =>
  values.map((value) => {
    if (!value) return '';
    const power = Math.log10(value);
    if (Math.abs(power - Math.round(power)) > 1e-9) return '';
    return value >= 0.001 ? String(Number(value.toPrecision(2))) : `1e${Math.round(power)}`;
  });

export function RooflinePlot({ roof }: { roof: Roof }) {
  const [picked, setPicked] = useState<RoofPoint | null>(null);
  const data = useMemo<uPlot.AlignedData>(() => {
    const sorted = [...roof.points].sort((a, b) => a.intensity - b.intensity);
    return [sorted.map((point) => point.intensity), sorted.map((point) => point.tflops)];
  }, [roof]);
  const ranges = rangesOf(roof);
  const options = (): ChartOptions => {
    const state: { picked: RoofPoint | null } = { picked: null };
    return {
      scales: {
        x: { time: false, distr: 3, range: () => ranges.x },
        y: { distr: 3, range: () => ranges.y },
      },
      axes: [
        axis('FLOPs for each byte moved', { values: ticks }),
        axis('TFLOP/s', { size: 56, values: ticks }),
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      legend: { show: false },
      cursor: { x: false, y: false, points: { show: false }, drag: { x: false, y: false } },
      plugins: [
        onDraw(drawRoof(roof), (plot, context) => drawPoints(roof, state.picked)(plot, context)),
        {
          hooks: {
            setCursor: (plot: uPlot) => {
              const near = nearest(roof, plot);
              if (near === state.picked) return;
              state.picked = near;
              setPicked(near);
              plot.redraw(false);
            },
          },
        },
      ],
    };
  };
  return (
    <>
      <Chart
        data={data}
        height={420}
        options={options}
        label="operators by FLOPs for each byte and TFLOP/s, under the ceilings of the device"
      />
      <p class="picked" aria-live="polite">
        {picked ? (
          <PointText point={picked} />
        ) : (
          'Point at an operator. ○ bound by compute, □ by memory; area is device time.'
        )}
      </p>
    </>
  );
}

function nearest(roof: Roof, plot: uPlot): RoofPoint | null {
  const { left, top } = plot.cursor;
  if (left === undefined || top === undefined || left < 0) return null;
  let best: RoofPoint | null = null;
  let distance = 18;
  for (const point of roof.points) {
    const away = Math.hypot(
      plot.valToPos(point.intensity, 'x') - left,
      plot.valToPos(point.tflops, 'y') - top,
    );
    if (away < distance) {
      best = point;
      distance = away;
    }
  }
  return best;
}

function PointText({ point }: { point: RoofPoint }) {
  const { row } = point;
  const roof =
    row.roofline_share === null ? '' : `, ${format.share(row.roofline_share)} of its roof`;
  return (
    <>
      <b>{row.op}</b> {row.precision} {row.dims}: {format.time(row.device_ms)} in{' '}
      {format.plural(row.calls, 'call')}, {format.significant(point.tflops)} TFLOP/s at{' '}
      {format.significant(point.intensity)} FLOP/B, bound by {row.bound}
      {roof}
    </>
  );
}
