// SPDX-License-Identifier: Apache-2.0
// Columns of the tables, by the names of the report (docs/user/json.md).
import type { Row } from './report.js';
import type { TableColumn } from './table.js';

const text = (key: string, label: string, width = 20, title?: string): TableColumn => ({
  key,
  label,
  kind: 'text',
  width,
  ...(title ? { title } : {}),
});
const sum = (
  key: string,
  label: string,
  kind: TableColumn['kind'],
  title?: string,
): TableColumn => ({
  key,
  label,
  kind,
  gather: 'sum',
  ...(title ? { title } : {}),
});
const plain = (
  key: string,
  label: string,
  kind: TableColumn['kind'],
  title?: string,
): TableColumn => ({
  key,
  label,
  kind,
  ...(title ? { title } : {}),
});
const max = (key: string, label: string, kind: TableColumn['kind']): TableColumn => ({
  key,
  label,
  kind,
  gather: 'max',
});

export const OPS: TableColumn[] = [
  text('name', 'operator', 34),
  sum('calls', 'calls', 'count'),
  sum('device_self_ms', 'device ms', 'ms', 'device time of what it launched itself'),
  sum('device_self_share', 'share', 'share', 'of the device time of all operators'),
  plain('device_total_ms', 'with inner', 'ms', 'device time with that of the operators inside it'),
  sum('host_self_ms', 'host ms', 'ms', 'host time without the operators inside it'),
  sum('host_self_share', 'share', 'share', 'of the host time of all operators'),
  plain('host_total_ms', 'with inner', 'ms', 'host time with that of the operators inside it'),
  plain('host_mean_us', 'mean µs', 'us', 'host time of a call, mean'),
  plain('host_p95_us', 'p95 µs', 'us', 'host time of a call: 95 of 100 are shorter'),
  sum('kernels', 'kernels', 'count', 'launched by itself'),
  text('kind', 'kind', 10),
];

export const KERNELS: TableColumn[] = [
  { ...text('name', 'kernel', 40), short: true },
  sum('total_ms', 'total ms', 'ms'),
  sum('share', 'share', 'share', 'of the summed time of all device work'),
  sum('count', 'count', 'count'),
  plain('mean_us', 'mean µs', 'us'),
  { ...plain('min_us', 'min µs', 'us'), gather: 'min' },
  plain('p50_us', 'p50 µs', 'us'),
  plain('p95_us', 'p95 µs', 'us'),
  max('max_us', 'max µs', 'us'),
  plain('occupancy_pct', 'occup.', 'pct', 'warps in flight, of what the device can hold'),
  text('op', 'launched by', 22),
  text('class', 'class', 12),
  text('kind', 'kind', 8),
];

export const TRANSFERS: TableColumn[] = [
  text('direction', 'direction', 20),
  text('source', 'from', 13),
  text('target', 'to', 13),
  sum('count', 'count', 'count'),
  sum('bytes', 'bytes', 'bytes'),
  sum('total_ms', 'total ms', 'ms'),
  sum('exposed_ms', 'exposed ms', 'ms', 'time in which nothing else ran on the device'),
  plain('gbytes_per_s', 'GB/s', 'number'),
  plain('link_share', 'of link', 'share', 'rate over what the link can carry'),
];

export const SYNCS: TableColumn[] = [
  text('call', 'call', 26),
  text('where', 'where', 30),
  text('op', 'inside', 22),
  sum('count', 'count', 'count'),
  sum('per_step', 'a step', 'number'),
  sum('total_ms', 'total ms', 'ms'),
  max('max_ms', 'max ms', 'ms'),
  text('by_profiler', 'by profiler', 11, 'made by the recorder, not by the program'),
];

export const COLLECTIVES: TableColumn[] = [
  text('kind', 'collective', 20),
  text('dtype', 'type', 10),
  plain('message_bytes', 'message', 'bytes'),
  plain('group_size', 'ranks', 'count'),
  sum('count', 'count', 'count'),
  sum('total_ms', 'total ms', 'ms'),
  plain('mean_us', 'mean µs', 'us'),
  max('max_us', 'max µs', 'us'),
  plain('algorithm_gbytes_per_s', 'alg GB/s', 'number', 'message over time'),
  plain('bus_gbytes_per_s', 'bus GB/s', 'number', 'what each link carried, as nccl-tests counts'),
];

export const PYTHON: TableColumn[] = [
  text('name', 'function', 40),
  text('file', 'file', 22),
  sum('calls', 'calls', 'count'),
  sum('self_ms', 'self ms', 'ms'),
  plain('total_ms', 'total ms', 'ms', 'with what it calls'),
  plain('device_ms', 'device ms', 'ms', 'device time of what was launched under it'),
];

export const ROOFLINE: TableColumn[] = [
  text('op', 'operator', 26),
  text('precision', 'type', 7),
  text('bound', 'bound', 9, 'what sets its ceiling'),
  sum('calls', 'calls', 'count'),
  sum('device_ms', 'device ms', 'ms'),
  plain('roofline_share', 'of roof', 'share', 'rate over the ceiling that holds for it'),
  plain('tflops_per_s', 'TFLOP/s', 'number'),
  plain('gbytes_per_s', 'GB/s', 'number'),
  text('dims', 'shapes', 30),
];

export const FAMILIES: TableColumn[] = [
  text('family', 'family', 18),
  text('precision', 'type', 8),
  text('matrix_unit', 'tensor cores', 14),
  sum('count', 'count', 'count'),
  sum('total_ms', 'total ms', 'ms'),
  sum('share', 'share', 'share', 'of the compute time of the device'),
];

export const CRITICAL: TableColumn[] = [
  { ...text('name', 'stretch', 34), short: true },
  text('kind', 'kind', 18),
  sum('ms', 'ms a step', 'ms'),
  sum('share', 'share', 'share', 'of the critical path'),
  sum('per_step', 'a step', 'number', 'how often a step'),
];

export const IDLE: TableColumn[] = [
  text('cause', 'cause', 26),
  sum('ms', 'ms', 'ms', 'over the whole trace'),
  sum('share', 'share', 'share', 'of all idle time'),
  sum('steady_ms', 'steady ms', 'ms', 'in the steady steps'),
  sum('count', 'gaps', 'count'),
];

export const DEVICES: TableColumn[] = [
  text('name', 'device', 14),
  plain('busy_share', 'busy', 'share'),
  plain('total_ms', 'total ms', 'ms'),
  plain('compute_ms', 'compute ms', 'ms'),
  plain('exposed_comm_ms', 'exposed comm', 'ms', 'communication that nothing hides'),
  plain('exposed_copy_ms', 'exposed copies', 'ms', 'copies that nothing hides'),
  plain('idle_ms', 'idle ms', 'ms'),
  plain('work_count', 'pieces of work', 'count'),
];

export const MEMORY_OPS: TableColumn[] = [
  text('op', 'operator', 30),
  text('device', 'device', 8),
  sum('live_at_peak_bytes', 'live at peak', 'bytes'),
  sum('live_share', 'of peak', 'share'),
  sum('allocated_bytes', 'allocated', 'bytes', 'over the whole trace'),
  sum('allocations', 'allocations', 'count'),
];

export const MEMORY_LINES: TableColumn[] = [
  text('line', 'line', 40),
  text('device', 'device', 8),
  sum('live_at_peak_bytes', 'live at peak', 'bytes'),
  sum('live_share', 'of peak', 'share'),
  sum('kept_bytes', 'kept', 'bytes', 'steady steps allocated it and later ones still hold it'),
  sum('allocated_bytes', 'allocated', 'bytes', 'over the whole trace'),
  sum('allocations', 'allocations', 'count'),
];

export const RANKS: TableColumn[] = [
  plain('rank', 'rank', 'count'),
  plain('steps', 'steps', 'count'),
  plain('median_ms', 'step ms', 'ms'),
  plain('p95_ms', 'p95 ms', 'ms'),
  plain('busy_share', 'busy', 'share'),
  plain('exposed_comm_ms', 'exposed comm', 'ms'),
  plain('idle_ms', 'idle ms', 'ms'),
  plain('wait_ms', 'waits ms', 'ms', 'for the others in collectives'),
  plain('last', 'last', 'count', 'how often it came last'),
  text('trust', 'trust', 8),
  text('path', 'file', 24),
];

/** The columns, with that of --group-by where the report was formed by it. */
export function withGroupBy(columns: TableColumn[], rows: Row[], groupBy: string): TableColumn[] {
  if (groupBy === 'name' || !rows.some((row) => groupBy in row)) return columns;
  const [first, ...rest] = columns;
  return first ? [first, text(groupBy, groupBy, 26), ...rest] : columns;
}
