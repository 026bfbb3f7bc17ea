// SPDX-License-Identifier: Apache-2.0
// The flame chart behind its view: which node is zoomed into, picked, pointed at, and when to draw.
import { readPalette, variantsOf, type Palette } from '../timeline/palette.js';
import { firstSeen } from '../timeline/tracks.js';
import { drawFlame, PITCH } from './draw.js';
import type { Found, Icicle } from './tree.js';

export class FlameEngine {
  /** Zoomed into; -1: everything. */
  focus = -1;
  selected = -1;
  hover = -1;
  found: Found | null = null;
  listener: () => void = () => undefined;

  private width = 300;
  private height = 150;
  private scale = 1;
  private palette: Palette;
  private readonly variants: Uint8Array;
  private pending = 0;

  constructor(
    public icicle: Icicle,
    readonly strings: string[],
    private readonly kind: number,
    readonly canvas: HTMLCanvasElement,
    private readonly scroller: HTMLElement,
    private readonly tall: HTMLElement,
  ) {
    this.variants = variantsOf(strings);
    this.palette = readPalette(canvas);
    this.resize();
  }

  resize(): void {
    this.scale = window.devicePixelRatio || 1;
    this.width = Math.max(50, this.scroller.clientWidth);
    this.height = Math.max(50, this.scroller.clientHeight);
    this.canvas.width = Math.round(this.width * this.scale);
    this.canvas.height = Math.round(this.height * this.scale);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.tall.style.height = `${Math.max(this.height, this.icicle.levels * PITCH + 4)}px`;
    this.palette = readPalette(this.canvas);
    this.requestDraw();
  }

  setIcicle(icicle: Icicle): void {
    this.icicle = icicle;
    // A node that has no weight of this kind cannot be zoomed into.
    if (this.focus >= 0 && icicle.total[this.focus] === 0) this.zoomTo(-1);
    this.resize();
  }

  private range(): [number, number] {
    const { icicle, focus } = this;
    if (focus < 0) return [0, Math.max(1, icicle.whole)];
    return [icicle.start[focus]!, icicle.start[focus]! + Math.max(1, icicle.total[focus]!)];
  }

  /** Scrolls so that the node and what it calls are in view. */
  private reveal(node: number): void {
    if (node < 0) return;
    const y = this.icicle.depth[node]! * PITCH;
    const { scrollTop } = this.scroller;
    if (y < scrollTop || y + 3 * PITCH > scrollTop + this.height) {
      this.scroller.scrollTop = Math.max(0, y - this.height / 3);
    }
  }

  zoomTo(node: number): void {
    this.focus = node;
    this.selected = node;
    this.reveal(node);
    this.requestDraw();
    this.listener();
  }

  select(node: number): void {
    this.selected = node;
    const [from, to] = this.range();
    if (node >= 0) {
      const start = this.icicle.start[node]!;
      const outside = start < from || start >= to;
      if (outside) this.focus = -1;
      this.reveal(node);
    }
    this.requestDraw();
    this.listener();
  }

  setHover(node: number): void {
    if (node === this.hover) return;
    this.hover = node;
    this.requestDraw();
  }

  setFound(found: Found | null): void {
    this.found = found;
    this.requestDraw();
    this.listener();
  }

  step(backwards: boolean): void {
    const nodes = this.found?.nodes ?? [];
    if (nodes.length === 0) return;
    const at = nodes.indexOf(this.selected);
    const next = at < 0 ? (backwards ? nodes.length - 1 : 0) : at + (backwards ? -1 : 1);
    this.select(nodes[(next + nodes.length) % nodes.length]!);
  }

  /** Node drawn at a point of the canvas; -1 none. */
  hit(x: number, y: number): number {
    const level = Math.floor((y + this.scroller.scrollTop) / PITCH);
    const { set, order } = this.icicle;
    const track = set.tracks[level];
    if (!track) return -1;
    const [from, to] = this.range();
    const at = from + (x / this.width) * (to - from);
    const position = firstSeen(set, track, at);
    if (position >= track.to || set.start[position]! > at) return -1;
    return order[set.row[position]!]!;
  }

  requestDraw(): void {
    if (this.pending === 0) this.pending = requestAnimationFrame(() => this.draw());
  }

  destroy(): void {
    cancelAnimationFrame(this.pending);
    this.pending = -1;
    this.listener = () => undefined;
  }

  private draw(): void {
    this.pending = 0;
    const ctx = this.canvas.getContext('2d', { alpha: false });
    if (!ctx) return;
    const begun = performance.now();
    ctx.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    const [from, to] = this.range();
    drawFlame({
      ctx,
      icicle: this.icicle,
      strings: this.strings,
      palette: this.palette,
      variants: this.variants,
      kind: this.kind,
      width: this.width,
      height: this.height,
      scrollTop: this.scroller.scrollTop,
      from,
      to,
      found: this.found,
      selected: this.selected,
      hover: this.hover,
      focus: this.focus,
    });
    this.canvas.dataset['ms'] = (performance.now() - begun).toFixed(2);
  }
}
