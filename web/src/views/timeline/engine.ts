// SPDX-License-Identifier: Apache-2.0
// The timeline behind its view: what is in view, what is picked, and when to draw. It draws by
// itself, at most once a frame: a zoom step must not wait for the page to be built anew.
import { headerParts } from './draw_header.js';
import type { Frame, Selection } from './frame.js';
import { hatchPattern } from './hatch.js';
import { hitAt, type Hit } from './hit.js';
import { laneOfRow, type Model } from './lanes.js';
import { closedAtFirst, layoutLanes, levelY, LEVEL, type Layout } from './layout.js';
import { Minimap } from './minimap.js';
import { paint } from './paint.js';
import { readPalette, variantsOf, type Palette } from './palette.js';
import { arrowsOf, relationsOf, type Arrow, type Relations } from './relations.js';
import { findMatches, nextMatch, type Matches } from './search.js';
import {
  clampWindow,
  panWindow,
  reveal,
  windowAround,
  zoomWindow,
  type TimeWindow,
} from './window.js';

/** Canvas narrower than this has no gutter: lane names stand above their boxes. */
const NARROW = 640;
const GUTTER = 212;

export type Change = 'window' | 'pick' | 'span' | 'search' | 'lanes' | 'hover';

export class Engine {
  window: TimeWindow;
  selection: Selection = null;
  hover: Selection = null;
  span: TimeWindow | null = null;
  matches: Matches | null = null;
  places: TimeWindow[] = [];
  relations: Relations | null = null;
  closed: Set<number>;
  hidden = new Set<number>();
  laneFilter = '';
  layout: Layout;
  listener: (change: Change) => void = () => undefined;

  private width = 300;
  private height = 150;
  private scale = 1;
  private arrows: Arrow[] = [];
  private palette: Palette;
  private patterns = new Map<string, CanvasPattern | string>();
  private readonly variants: Uint8Array;
  private readonly minimap: Minimap;
  private pending = 0;

  constructor(
    readonly model: Model,
    readonly canvas: HTMLCanvasElement,
    map: HTMLCanvasElement,
    private readonly scroller: HTMLElement,
    private readonly tall: HTMLElement,
  ) {
    this.window = { start: 0, end: model.spanNs };
    this.closed = closedAtFirst(model);
    this.variants = variantsOf(model.header.strings);
    this.palette = readPalette(canvas);
    this.minimap = new Minimap(model, map);
    this.layout = this.arrange();
    this.resize();
  }

  get left(): number {
    return this.width < NARROW ? 0 : GUTTER;
  }
  get top(): number {
    return this.head.height;
  }
  get head() {
    return headerParts(this.model.steps.length > 0, this.model.gapSet.row.length > 0);
  }
  get nsPerPixel(): number {
    return (this.window.end - this.window.start) / Math.max(1, this.width - this.left);
  }
  timeAt(x: number): number {
    return this.window.start + (x - this.left) * this.nsPerPixel;
  }

  /** After the size of the box, the theme or the pixel ratio changed. */
  resize(): void {
    const scale = window.devicePixelRatio || 1;
    this.width = Math.max(50, this.scroller.clientWidth);
    this.height = Math.max(50, this.scroller.clientHeight);
    this.scale = scale;
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.palette = readPalette(this.canvas);
    const ctx = this.canvas.getContext('2d');
    this.patterns.clear();
    for (const { id } of this.model.gapCauses) {
      if (!ctx) break;
      this.patterns.set(id, hatchPattern(ctx, id, this.palette, scale, 1));
      this.patterns.set(`faint ${id}`, hatchPattern(ctx, id, this.palette, scale, 0.28));
    }
    this.minimap.resize(this.palette, scale);
    this.relayout();
  }

  private arrange(): Layout {
    const words = this.laneFilter.toLowerCase();
    const shown = (lane: number) => {
      const { name, process } = this.model.lanes[lane]!;
      if (this.hidden.has(lane)) return false;
      return words === '' || `${name} ${process ?? ''}`.toLowerCase().includes(words);
    };
    return layoutLanes(this.model, this.closed, shown, this.left === 0);
  }

  private relayout(): void {
    this.layout = this.arrange();
    this.tall.style.height = `${Math.max(this.height, this.layout.height + this.top + 8)}px`;
    this.requestDraw();
  }

  shownLanes(): number[] {
    return this.layout.boxes.map((box) => box.lane);
  }

  setLanes(change: { closed?: Set<number>; hidden?: Set<number>; filter?: string }): void {
    if (change.closed) this.closed = change.closed;
    if (change.hidden) this.hidden = change.hidden;
    if (change.filter !== undefined) this.laneFilter = change.filter;
    this.relayout();
    this.listener('lanes');
  }

  toggleLane(lane: number): void {
    const closed = new Set(this.closed);
    if (!closed.delete(lane)) closed.add(lane);
    this.setLanes({ closed });
  }

  setWindow(wanted: TimeWindow, tell = true): void {
    this.window = clampWindow(wanted, this.model.spanNs);
    this.requestDraw();
    if (tell) this.listener('window');
  }
  zoom(factor: number, x: number): void {
    this.setWindow(zoomWindow(this.window, factor, this.timeAt(x), this.model.spanNs));
  }
  pan(pixels: number): void {
    this.setWindow(panWindow(this.window, pixels * this.nsPerPixel, this.model.spanNs));
  }

  setSpan(span: TimeWindow | null): void {
    this.span = span && span.end > span.start ? span : null;
    this.requestDraw();
    this.listener('span');
  }

  setHover(hover: Selection): void {
    const same =
      hover?.type === this.hover?.type && JSON.stringify(hover) === JSON.stringify(this.hover);
    this.hover = hover;
    if (!same) this.requestDraw();
  }

  /** show: bring it into view, opening its lane where it is closed. */
  select(selection: Selection, show = false, tell = true): void {
    this.selection = selection;
    this.relations = selection?.type === 'row' ? relationsOf(this.model, selection.row) : null;
    this.arrows =
      selection?.type === 'row' && this.relations
        ? arrowsOf(this.model, selection.row, this.relations)
        : [];
    if (show && selection) this.show(selection);
    this.requestDraw();
    if (tell) this.listener('pick');
  }

  extent(selection: Selection): TimeWindow | null {
    if (!selection) return null;
    const { start, duration } = selection.type === 'row' ? this.model.rows : this.model.rows.gaps;
    const at = selection.type === 'row' ? selection.row : selection.gap;
    return { start: start[at]!, end: start[at]! + duration[at]! };
  }

  private show(selection: Selection): void {
    const extent = this.extent(selection);
    if (!extent) return;
    this.setWindow(reveal(this.window, extent.start, extent.end, this.model.spanNs));
    if (selection?.type === 'row') this.showRow(selection.row);
  }

  private showRow(row: number): void {
    const lane = laneOfRow(this.model, row);
    if (lane < 0) return;
    const level = this.model.level[row]!;
    if (this.layout.boxOfLane[lane]! < 0) {
      const hidden = new Set(this.hidden);
      hidden.delete(lane);
      this.setLanes({ hidden, filter: '' });
    }
    if (level > 0 && this.closed.has(lane)) this.toggleLane(lane);
    const y = levelY(this.layout.boxes[this.layout.boxOfLane[lane]!]!, level);
    const room = this.height - this.top;
    const { scrollTop } = this.scroller;
    if (y < scrollTop + LEVEL || y + 2 * LEVEL > scrollTop + room) {
      this.scroller.scrollTop = Math.max(0, y - room / 2);
    }
  }

  /** Scrolls a lane to the top of what is in view. */
  showLane(lane: number): void {
    const box = this.layout.boxes[this.layout.boxOfLane[lane] ?? -1];
    if (box) this.scroller.scrollTop = Math.max(0, box.y - LEVEL);
  }

  fit(): void {
    const extent = this.span ?? this.extent(this.selection) ?? { start: 0, end: this.model.spanNs };
    const whole = this.span === null && this.selection === null;
    this.setWindow(whole ? extent : windowAround(extent.start, extent.end, this.model.spanNs));
  }

  search(query: string): void {
    if ((this.matches?.query ?? '') === query) return;
    this.matches = findMatches(this.model, query);
    this.minimap.setMatches(this.matches);
    this.requestDraw();
    this.listener('search');
  }

  step(backwards: boolean): void {
    if (!this.matches || this.matches.count === 0) return;
    const from = this.selection?.type === 'row' ? this.selection.row : -1;
    const row = nextMatch(this.model, this.matches, from, this.window.start, backwards);
    if (row >= 0) this.select({ type: 'row', row }, true);
  }

  hit(x: number, y: number): Hit {
    return hitAt(this, x, y, this.scroller.scrollTop);
  }

  /** A moment picked on the overview strip, as a share of its width. */
  get map(): Minimap {
    return this.minimap;
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
    const begun = performance.now();
    const ctx = this.canvas.getContext('2d', { alpha: false });
    if (!ctx) return;
    const frame: Frame = {
      ctx,
      model: this.model,
      palette: this.palette,
      patterns: this.patterns,
      variants: this.variants,
      layout: this.layout,
      window: this.window,
      width: this.width,
      height: this.height,
      left: this.left,
      top: this.top,
      scrollTop: this.scroller.scrollTop,
      nsPerPixel: this.nsPerPixel,
      matches: this.matches,
      selection: this.selection,
      hover: this.hover,
      arrows: this.arrows,
      span: this.span,
      places: this.places,
    };
    paint(frame, this.scale);
    this.minimap.draw(this.window, this.span);
    // For those who measure: what the last picture took, without the browser's own part.
    this.canvas.dataset['ms'] = (performance.now() - begun).toFixed(2);
  }
}
