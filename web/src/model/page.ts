// SPDX-License-Identifier: Apache-2.0
// "page" of the report: what only the page needs (docs/design/page.md). Times are nanoseconds from
// begin_ns unless the name says otherwise.
import type { Maybe } from './report.js';

export interface Share {
  id: string;
  text: string;
  ms: number;
  share: number;
}

export interface Place {
  start_ns: number;
  end_ns: number;
  text: string;
  lane: number | null;
}

export type Triple = [low: number, likely: number, high: number];

export interface WhatIfSwitch {
  id: string;
  what: string;
  scope: string | null;
  docs: string | null;
}

export interface WhatIf {
  measured_ms: number;
  replayed_ms: number;
  error_pct: number;
  bare_ms: Maybe<{ low: number; likely: number; high: number }>;
  recorder: string | null;
  switches: WhatIfSwitch[];
  /** Entry m holds the step with the switches fixed whose bit is set in m. */
  steps_ms: Triple[];
  more: { id: string; what: string; scope: string | null; ms: Triple }[];
}

/** A merged call tree; parents stand before children, names are ids into timeline.strings. */
export interface Tree {
  unit: string;
  sampled: boolean;
  name: number[];
  parent: number[];
  self: number[];
  total: number[];
  device: number[] | null;
  calls: number[];
  /** Nodes that were too many; absent in older pages. */
  left_out?: number;
}

export type FlameKind = 'op' | 'module' | 'python';

export interface Counter {
  track: string;
  series: string;
  unit: string | null;
  time_ns: number[];
  value: number[];
}

export interface Lane {
  kind: 'thread' | 'stream';
  name: string;
  process: string | number | null;
  device: number | null;
  first: number;
  last: number;
  depth: number;
}

export type ColumnType = 'f64' | 'u32' | 'u8';

export interface Column {
  type: ColumnType;
  offset: number;
  count: number;
}

export interface PageTimeline {
  strings: string[];
  lanes: Lane[];
  columns: Record<string, Column>;
  gaps: Maybe<{ device: number; causes: { id: string; text: string }[] }>;
  left_out: { events: number; why: string } | null;
}

export interface PageStep {
  name: string;
  start_ns: number;
  end_ns: number;
  warm_up: boolean;
}

export interface Page {
  title: string;
  command: string;
  begin_ns: string;
  span_ns: number;
  headline: Maybe<{ what: string; trust: string; shares: Maybe<Share[]> }>;
  /** By device of memory.devices: where its times start; absent in older pages. */
  memory_begin_ns?: (number | null)[];
  steps: Maybe<PageStep[]>;
  places: Place[][];
  whatif: Maybe<WhatIf>;
  flame: Maybe<Record<FlameKind, Maybe<Tree>>>;
  counters: Maybe<Counter[]>;
  timeline: Maybe<PageTimeline>;
}
