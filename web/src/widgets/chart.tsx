// SPDX-License-Identifier: Apache-2.0
// uPlot in the page: it follows the width of its box and the theme, and says in words what it shows.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { usePage } from './context.js';

/** Colours of the page as a canvas needs them. */
export function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || '#888';
}

/** Ticks at powers of two, so that they read as whole MiB and GiB. */
export const BYTE_TICKS = Array.from({ length: 50 }, (_, power) => 2 ** power);

const FONT = '11px system-ui, sans-serif';

/** An axis in the colours of the page. */
export function axis(label: string, more: Partial<uPlot.Axis> = {}): uPlot.Axis {
  return {
    label,
    size: label ? 26 : 30,
    labelSize: 16,
    labelFont: FONT,
    font: FONT,
    stroke: () => colorOf('--text-2'),
    grid: { stroke: () => colorOf('--line-soft'), width: 1 },
    ticks: { stroke: () => colorOf('--line'), width: 1, size: 4 },
    gap: 3,
    ...more,
  };
}

export type ChartOptions = Omit<uPlot.Options, 'width' | 'height'>;

interface Props {
  /** Made anew when the theme or `data` changes: it may read colours. */
  options: () => ChartOptions;
  data: uPlot.AlignedData;
  height: number;
  /** What the chart shows, for those who do not see it. */
  label: string;
}

export function Chart({ options, data, height, label }: Props) {
  const { theme } = usePage();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const width = () => Math.max(200, Math.floor(element.clientWidth));
    const plot = new uPlot({ ...options(), width: width(), height }, data, element);
    const watcher = new ResizeObserver(() => {
      if (Math.abs(width() - plot.width) > 1) plot.setSize({ width: width(), height });
    });
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [data, theme, height]);
  return (
    <div
      class="chart"
      role="img"
      aria-label={label}
      ref={box}
      style={{ minHeight: `${height}px` }}
    />
  );
}

/** Draws behind or above the series, in canvas pixels. */
export type Draw = (plot: uPlot, context: CanvasRenderingContext2D) => void;

export function onDraw(...draws: Draw[]): uPlot.Plugin {
  return {
    hooks: {
      draw: (plot: uPlot) => {
        plot.ctx.save();
        const { left, top, width, height } = plot.bbox;
        plot.ctx.beginPath();
        plot.ctx.rect(left, top, width, height);
        plot.ctx.clip();
        for (const draw of draws) draw(plot, plot.ctx);
        plot.ctx.restore();
      },
    },
  };
}

/** A line across at a value, with its name at one end. */
export function levelLine(
  value: number,
  text: string,
  color: string,
  end: 'left' | 'right' = 'right',
): Draw {
  return (plot, context) => {
    const y = plot.valToPos(value, 'y', true);
    const { left, width } = plot.bbox;
    context.strokeStyle = colorOf(color);
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(left, y);
    context.lineTo(left + width, y);
    context.stroke();
    context.setLineDash([]);
    const x = end === 'right' ? left + width - 4 : left + 4;
    // One above its line, one below, so that two that lie close stay readable.
    label(context, text, x, y + (end === 'left' ? -4 : 12) * devicePixelRatio, end, color);
  };
}

export function label(
  context: CanvasRenderingContext2D,
  text: string,
  x: number,
  y: number,
  align: CanvasTextAlign,
  color: string,
): void {
  context.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  context.textAlign = align;
  context.lineWidth = 3 * devicePixelRatio;
  context.strokeStyle = colorOf('--bg');
  context.strokeText(text, x, y);
  context.fillStyle = colorOf(color);
  context.fillText(text, x, y);
  context.lineWidth = devicePixelRatio;
}
