// SPDX-License-Identifier: Apache-2.0
// Idle causes with their hatch, and the time each takes in all: largest first.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Theme } from '../contract.js';
import type { Engine } from './engine.js';
import { hatchTile } from './hatch.js';
import type { Model } from './lanes.js';
import { readPalette } from './palette.js';
import { countText, durationText } from './time_text.js';

interface CauseSum {
  cause: number;
  count: number;
  ns: number;
  longest: number;
}

export function sumCauses(model: Model): CauseSum[] {
  const { gaps } = model.rows;
  const sums = model.gapCauses.map((_, cause) => ({ cause, count: 0, ns: 0, longest: -1 }));
  for (let gap = 0; gap < gaps.count; ++gap) {
    const sum = sums[gaps.cause[gap]!]!;
    ++sum.count;
    sum.ns += gaps.duration[gap]!;
    if (sum.longest < 0 || gaps.duration[gap]! > gaps.duration[sum.longest]!) sum.longest = gap;
  }
  return sums.filter((sum) => sum.count > 0).sort((a, b) => b.ns - a.ns);
}

export function Legend({ engine, theme }: { engine: Engine; theme: Theme }) {
  const { model } = engine;
  const sums = useMemo(() => sumCauses(model), [model]);
  if (model.gapsAbsent) return <p class="tl-legend tl-quiet">idle gaps: {model.gapsAbsent}</p>;
  if (sums.length === 0) return null;
  return (
    <div class="tl-legend" role="group" aria-label={`idle time of GPU ${model.gapDevice} by cause`}>
      <span class="tl-quiet">GPU {model.gapDevice} idle</span>
      {sums.map(({ cause, count, ns, longest }) => (
        <button
          key={cause}
          type="button"
          title={`${countText(count)} gaps; click: the longest`}
          onClick={() => {
            engine.select({ type: 'gap', gap: longest });
            engine.fit();
          }}
        >
          <Swatch id={model.gapCauses[cause]!.id} theme={theme} />
          {model.gapCauses[cause]!.text} <span class="tl-quiet">{durationText(ns)}</span>
        </button>
      ))}
    </div>
  );
}

function Swatch({ id, theme }: { id: string; theme: Theme }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const ctx = canvas.current?.getContext('2d');
    if (!ctx || !canvas.current) return;
    const pattern = ctx.createPattern(hatchTile(id, readPalette(canvas.current), 2, 1), 'repeat');
    ctx.fillStyle = pattern ?? '#808080';
    ctx.fillRect(0, 0, 32, 24);
  }, [id, theme]);
  return <canvas ref={canvas} width={32} height={24} class="tl-swatch" aria-hidden="true" />;
}
