// SPDX-License-Identifier: Apache-2.0
// Boxes and labels of one picture, gathered by colour: a colour is set once, not once a box.
import type { Palette } from './palette.js';

class Rects {
  data = new Float32Array(256);
  count = 0;

  push(x: number, y: number, width: number, height: number): void {
    const at = this.count * 4;
    if (at + 4 > this.data.length) {
      const larger = new Float32Array(this.data.length * 2);
      larger.set(this.data);
      this.data = larger;
    }
    this.data[at] = x;
    this.data[at + 1] = y;
    this.data[at + 2] = width;
    this.data[at + 3] = height;
    ++this.count;
  }
}

export class Bins {
  private readonly rects: (Rects | undefined)[] = [];
  private labels: { text: string; x: number; y: number; ink: string }[] = [];

  box(fill: number, x: number, y: number, width: number, height: number): void {
    (this.rects[fill] ??= new Rects()).push(x, y, width, height);
  }

  label(text: string, x: number, y: number, ink: string): void {
    this.labels.push({ text, x, y, ink });
  }

  /** Boxes gathered since the last flush. */
  count(): number {
    return this.rects.reduce((sum, rects) => sum + (rects?.count ?? 0), 0);
  }

  flush(ctx: CanvasRenderingContext2D, palette: Palette): void {
    this.rects.forEach((rects, fill) => {
      if (!rects || rects.count === 0) return;
      ctx.fillStyle = palette.fills[fill] ?? palette.accent;
      const { data } = rects;
      for (let at = 0; at < rects.count * 4; at += 4) {
        ctx.fillRect(data[at]!, data[at + 1]!, data[at + 2]!, data[at + 3]!);
      }
      rects.count = 0;
    });
    this.labels.sort((a, b) => (a.ink < b.ink ? -1 : a.ink > b.ink ? 1 : 0));
    let ink = '';
    for (const label of this.labels) {
      if (label.ink !== ink) ctx.fillStyle = ink = label.ink;
      ctx.fillText(label.text, label.x, label.y);
    }
    this.labels = [];
  }
}
