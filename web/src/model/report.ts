// SPDX-License-Identifier: Apache-2.0
// The report as the program writes it (docs/user/json.md, docs/design/page.md). Only types and the
// reading of the two data scripts; what the page derives stands in files of its own.
import type { Page } from './page.js';

/** A value, or the reason why the trace does not have it. */
export interface Absent {
  absent: string;
}
export type Maybe<T> = T | Absent;

export function isAbsent(value: unknown): value is Absent {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { absent?: unknown }).absent === 'string'
  );
}

/** The value, or null where it is absent. */
export function known<T>(value: Maybe<T> | null | undefined): T | null {
  return value === null || value === undefined || isAbsent(value) ? null : value;
}

/** Why a value is absent, or null where it is there. */
export function whyAbsent(value: unknown): string | null {
  return isAbsent(value) ? value.absent : null;
}

export interface Range {
  low: number;
  likely: number;
  high: number;
}

export interface Device {
  id: number;
  name: string | null;
  memory_bytes: number | null;
  compute_major: number | null;
  compute_minor: number | null;
  sm_count: number | null;
}

export interface TraceInfo {
  path: string;
  format: string;
  recorder: string | null;
  name: string | null;
  devices: Device[];
  processes: number | null;
  events: number | null;
  input_bytes: number | null;
  raw_bytes: number | null;
  rank: number | null;
  world_size: number | null;
  backend: string | null;
  damaged: boolean;
  versions: Record<string, string | null>;
  settings: Record<string, boolean | null>;
}

export interface Loss {
  loss: string;
  severity: string;
  count: number | null;
  time_share: number | null;
  first: string | null;
  what: string;
  help: string;
}

export interface Trust {
  verdict: string;
  reasons: { lowers_to: string; text: string }[];
  present: Record<string, number | boolean | null>;
  losses: Loss[];
  steps: number;
  steady_steps: number;
  warm_up_inside: boolean;
}

export interface Where {
  source: string | null;
  op: string | null;
  kernel: string | null;
  thread: string | null;
  step: string | number | null;
  start_us: number | null;
  duration_us: number | null;
}

export interface Finding {
  id: string;
  title: string;
  severity: string;
  confidence: string;
  effort: string;
  recoverable_ms: Maybe<number>;
  speedup: Maybe<number>;
  speedup_after: Maybe<number>;
  /** The gain is the most there is. */
  at_most?: boolean;
  predicted_step_ms: Maybe<Range>;
  evidence: string[];
  where: Where[];
  remedy: string | null;
  fix: string[];
  same_cause: string[];
  docs: string;
}

export interface Replay {
  measured_step_ms: number;
  replayed_step_ms: number;
  error_pct: number;
  steps: number;
  steady_steps: number;
  bare_step_ms: Maybe<Range>;
  together_ms: Maybe<Range>;
  /** Under autocast on top; absent where that is not sure to be worth it. */
  half_precision_ms?: Maybe<Range>;
  /** torch's word for its 16 bits; older reports know bfloat16 only. */
  half_precision_dtype?: string;
}

export interface Step {
  number: number | null;
  name: string;
  start_ms: number;
  ms: number;
  warm_up: boolean;
}

export interface Steps {
  source: string;
  count: number;
  steady_count: number;
  warm_up_count: number;
  median_ms: Maybe<number>;
  p95_ms: Maybe<number>;
  mean_ms: Maybe<number>;
  min_ms: Maybe<number>;
  max_ms: Maybe<number>;
  list: Step[];
}

export interface Breakdown {
  total_ms: number;
  busy_ms: number;
  compute_ms: number;
  exposed_comm_ms: Maybe<number>;
  exposed_copy_ms: Maybe<number>;
  idle_ms: number;
  comm_ms: Maybe<number>;
  copy_ms: Maybe<number>;
}

export interface DeviceTimeline extends Breakdown {
  rules?: string;
  device: number;
  steady: Maybe<Breakdown>;
  per_device: ({ device: number; work_count: number; steady: Maybe<Breakdown> } & Breakdown)[];
}

export interface CriticalPath {
  length_ms: number;
  kinds: { kind: string; ms: number; share: number }[];
  parts: { kind: string; name: string; ms: number; share: number; per_step: number }[];
}

export type Row = Record<string, unknown>;

export interface MemoryDevice {
  type: string;
  device: number;
  relative: boolean;
  peak_allocated_bytes: number | null;
  peak_reserved_bytes: number | null;
  allocated_before_bytes: number | null;
  capacity_bytes: number | null;
  fragmentation: Maybe<number>;
  allocations: number;
  frees: number;
  growth_per_step_bytes: Maybe<number> | null;
  at_step_end_bytes: number[];
  peak_at_ms: number | null;
  timeline: { ms: number; allocated_bytes: number; reserved_bytes: number | null }[];
}

export interface MemoryOp {
  device: string;
  op: string;
  allocations: number;
  allocated_bytes: number;
  live_at_peak_bytes: number;
}

export interface MemoryLine {
  device: string;
  line: string;
  allocations: number;
  allocated_bytes: number;
  live_at_peak_bytes: number;
  kept_bytes: number | null;
}

export interface Memory {
  devices: MemoryDevice[];
  ops: MemoryOp[];
  /** Of the user's code; missing in reports of older versions. */
  lines?: Maybe<MemoryLine[]>;
}

export interface Comm {
  backend: string | null;
  /** Steady steps that all of it is of; missing or 0: of the whole trace. */
  steps?: number;
  total_ms: number;
  exposed_ms: Maybe<number>;
  overlap_pct: Maybe<number>;
  collectives: Row[];
}

export interface Loader {
  mode: string;
  iterator: string | null;
  fetches: number;
  total_ms: number;
  mean_ms: number;
  p95_ms: number;
  max_ms: number;
  per_step_ms: Maybe<number>;
  step_share: Maybe<number>;
  device_idle_ms: Maybe<number>;
}

export interface RooflineRow {
  op: string;
  dims: string;
  types: string;
  calls: number;
  device_ms: number;
  flops: number | null;
  bytes: number | null;
  precision: string | null;
  tflops_per_s: number | null;
  gbytes_per_s: number | null;
  roofline_share: number | null;
  bound: string | null;
}

export interface Efficiency {
  device_name: string | null;
  matrix_on_ms: Maybe<number>;
  matrix_off_ms: Maybe<number>;
  matrix_unknown_ms: Maybe<number>;
  tflops_per_s: Maybe<number>;
  model_flops_utilization: Maybe<number>;
  modelled_share: Maybe<number>;
  occupancy_pct: Maybe<number>;
  sm_share_pct: Maybe<number>;
  peaks: Maybe<Record<string, number | string | boolean | null>>;
  families: Maybe<Row[]>;
  roofline: Maybe<RooflineRow[]>;
}

export interface Python {
  lines_are_definitions: boolean;
  functions: Row[];
  lines: Row[];
}

export interface RankRow {
  rank: number | null;
  path: string;
  steps: number;
  median_ms: number | null;
  p95_ms: number | null;
  busy_share: number | null;
  exposed_comm_ms: number | null;
  idle_ms: number | null;
  wait_ms: number | null;
  last: number | null;
  trust: string;
}

export interface Ranks {
  count: number;
  lead: number | null;
  lead_path: string;
  skew: Maybe<{
    matched: number;
    unmatched: number;
    mean_us: number;
    p95_us: number;
    max_us: number;
    straggler: number | null;
    clocks_aligned: boolean;
    note: string | null;
  }>;
  list: RankRow[];
}

export interface Report {
  schema_version: number;
  hone_version: string;
  group_by: string;
  trace: TraceInfo;
  trust: Trust;
  findings: Maybe<Finding[]>;
  not_checked: Maybe<{ id: string; why: string }[]>;
  replay: Maybe<Replay>;
  critical_path: Maybe<CriticalPath>;
  steps: Maybe<Steps>;
  timeline: Maybe<DeviceTimeline>;
  idle: Maybe<{ cause: string; ms: number; steady_ms: number | null; count: number }[]>;
  kernels: Maybe<Row[]>;
  ops: Maybe<Row[]>;
  transfers: Maybe<Row[]>;
  syncs: Maybe<Row[]>;
  memory: Maybe<Memory>;
  comm: Maybe<Comm>;
  loader: Maybe<Loader>;
  efficiency: Maybe<Efficiency>;
  python: Maybe<Python>;
  launches: Maybe<Row>;
  kernel_sizes: Maybe<{
    kernels: number;
    under_10us: number;
    buckets: { below_us: number | null; count: number; ms: number }[];
  }>;
  ranks?: Maybe<Ranks>;
  /** What only the page needs; a report saved by --json has none. */
  page?: Page;
}

/** The text of a data script, or null where the file has none. */
function dataOf(id: string): string | null {
  return document.getElementById(id)?.textContent ?? null;
}

/** Reads the report script. Throws with a sentence for the reader when there is none. */
export function readReport(): Report {
  const text = dataOf('hone-report');
  if (text === null || text.trim() === '') {
    throw new Error(
      'this page holds no report; write one with: hone analyze TRACE --html report.html',
    );
  }
  const report = JSON.parse(text) as Report;
  if (report.schema_version !== 1) {
    throw new Error(
      `this page reads schema 1 and the report in it is schema ${report.schema_version}; write it again`,
    );
  }
  return report;
}

/** The base64 text of the rows script; decoding it is the work of rows.ts, after the first paint. */
export function readRowsText(): string | null {
  const text = dataOf('hone-rows');
  return text === null || text.trim() === '' ? null : text.trim();
}
