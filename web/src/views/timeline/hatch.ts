// SPDX-License-Identifier: Apache-2.0
// Hatches of idle causes. The colours are those of the page (model/shares.ts); here each cause has a
// hatch of its own as well, since a narrow gap has no room for words.
import type { Palette } from './palette.js';

type Hatch = 'rising' | 'falling' | 'crossed' | 'dotted' | 'flat' | 'upright' | 'squared' | 'plain';

const HATCHES: Record<string, Hatch> = {
  'waiting-for-data': 'rising',
  synchronization: 'falling',
  copy: 'upright',
  communication: 'crossed',
  allocator: 'squared',
  launch: 'dotted',
  'host-work': 'flat',
  'device-overhead': 'plain',
  unknown: 'plain',
};

const SIZE = 8;

const LINES: Record<Hatch, [number, number, number, number][]> = {
  rising: [
    [-2, 10, 10, -2],
    [-6, 6, 6, -6],
    [2, 14, 14, 2],
  ],
  falling: [
    [-2, -2, 10, 10],
    [-6, 2, 6, 14],
    [2, -6, 14, 6],
  ],
  crossed: [
    [0, 8, 8, 0],
    [0, 0, 8, 8],
  ],
  dotted: [],
  flat: [
    [0, 2, 8, 2],
    [0, 6, 8, 6],
  ],
  upright: [
    [2, 0, 2, 8],
    [6, 0, 6, 8],
  ],
  squared: [
    [0, 4, 8, 4],
    [4, 0, 4, 8],
  ],
  plain: [],
};

/** A tile of the hatch, `scale` device pixels to a CSS one. Also used for the legend. */
export function hatchTile(
  id: string,
  palette: Palette,
  scale: number,
  strength: number,
): HTMLCanvasElement {
  const tile = document.createElement('canvas');
  tile.width = tile.height = Math.max(1, Math.round(SIZE * scale));
  const ctx = tile.getContext('2d');
  if (!ctx) return tile;
  const color = palette.cause(id);
  const hatch = HATCHES[id] ?? 'plain';
  ctx.scale(tile.width / SIZE, tile.height / SIZE);
  ctx.fillStyle = palette.faint(color, 0.3 * strength);
  ctx.fillRect(0, 0, SIZE, SIZE);
  ctx.strokeStyle = ctx.fillStyle = palette.faint(color, strength);
  ctx.lineWidth = 1.3;
  for (const [x0, y0, x1, y1] of LINES[hatch]) {
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.lineTo(x1, y1);
    ctx.stroke();
  }
  if (hatch === 'dotted') {
    for (const [x, y] of [
      [2, 2],
      [6, 6],
    ] as const) {
      ctx.beginPath();
      ctx.arc(x, y, 1.3, 0, 7);
      ctx.fill();
    }
  }
  return tile;
}

/** A pattern that keeps its size in CSS pixels under a context scaled by `scale`. */
export function hatchPattern(
  ctx: CanvasRenderingContext2D,
  id: string,
  palette: Palette,
  scale: number,
  strength: number,
): CanvasPattern | string {
  const tile = hatchTile(id, palette, scale, strength);
  const pattern = ctx.createPattern(tile, 'repeat');
  pattern?.setTransform(new DOMMatrix().scale(SIZE / tile.width, SIZE / tile.height));
  return pattern ?? palette.cause(id);
}
