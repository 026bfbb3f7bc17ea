// SPDX-License-Identifier: Apache-2.0
// Rows of a test packed as the program packs them (docs/design/page.md).
import { gzipSync } from 'node:zlib';
import type { Lane, PageTimeline } from '../src/model/page.js';

export const NONE = 0xffffffff;

/** mulberry32: small, and good enough to make a job of. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export interface RowSpec {
  start: number;
  duration: number;
  name: string;
  detail?: string;
  depth: number;
  kind: number;
  /** The row that caused it; its number is known when all rows stand. */
  cause?: RowSpec;
}

export interface GapSpec {
  start: number;
  duration: number;
  cause: number;
  blamed?: RowSpec;
}

export interface LaneSpec extends Omit<Lane, 'first' | 'last' | 'depth'> {
  rows: RowSpec[];
}

export const CAUSES = [
  { id: 'waiting-for-data', text: 'waiting for data' },
  { id: 'synchronization', text: 'host blocked in a synchronization' },
  { id: 'copy', text: 'waiting for a copy' },
  { id: 'communication', text: 'waiting on communication' },
  { id: 'allocator', text: 'allocator calls' },
  { id: 'launch', text: 'host launching too slowly' },
  { id: 'host-work', text: 'Python or other host work' },
  { id: 'device-overhead', text: 'turn-around between kernels' },
  { id: 'unknown', text: 'unknown' },
];

/** Packs lanes and gaps as src/report/html does. */
export function pack(lanes: LaneSpec[], gaps: GapSpec[]): { timeline: PageTimeline; text: string } {
  const strings = [''];
  const ids = new Map([['', 0]]);
  const id = (text: string) => {
    let found = ids.get(text);
    if (found === undefined) ids.set(text, (found = strings.push(text) - 1));
    return found;
  };
  const all = lanes.flatMap((lane) => lane.rows);
  const number = new Map(all.map((row, i) => [row, i]));
  const rowOf = (row: RowSpec | undefined) => (row ? (number.get(row) ?? NONE) : NONE);
  const parts: Uint8Array[] = [];
  const columns: PageTimeline['columns'] = {};
  let offset = 0;
  const add = (
    name: string,
    type: 'f64' | 'u32' | 'u8',
    data: Float64Array | Uint32Array | Uint8Array,
  ) => {
    columns[name] = { type, offset, count: data.length };
    const bytes = new Uint8Array(Math.ceil(data.byteLength / 8) * 8);
    bytes.set(new Uint8Array(data.buffer));
    parts.push(bytes);
    offset += bytes.length;
  };
  add(
    'start',
    'f64',
    Float64Array.from(all, (row) => row.start),
  );
  add(
    'duration',
    'f64',
    Float64Array.from(all, (row) => row.duration),
  );
  add(
    'name',
    'u32',
    Uint32Array.from(all, (row) => id(row.name)),
  );
  add(
    'detail',
    'u32',
    Uint32Array.from(all, (row) => id(row.detail ?? '')),
  );
  add(
    'depth',
    'u8',
    Uint8Array.from(all, (row) => row.depth),
  );
  add(
    'kind',
    'u8',
    Uint8Array.from(all, (row) => row.kind),
  );
  add(
    'cause',
    'u32',
    Uint32Array.from(all, (row) => rowOf(row.cause)),
  );
  add(
    'gap_start',
    'f64',
    Float64Array.from(gaps, (gap) => gap.start),
  );
  add(
    'gap_duration',
    'f64',
    Float64Array.from(gaps, (gap) => gap.duration),
  );
  add(
    'gap_cause',
    'u8',
    Uint8Array.from(gaps, (gap) => gap.cause),
  );
  add(
    'gap_blamed',
    'u32',
    Uint32Array.from(gaps, (gap) => rowOf(gap.blamed)),
  );
  let first = 0;
  const placed = lanes.map(({ rows, ...lane }) => {
    const last = first + rows.length;
    const depth = rows.reduce((most, row) => Math.max(most, row.depth + 1), 1);
    const made = { ...lane, first, last, depth };
    first = last;
    return made;
  });
  const text = gzipSync(Buffer.concat(parts)).toString('base64');
  return {
    timeline: {
      strings,
      lanes: placed,
      columns,
      gaps: { device: 0, causes: CAUSES },
      left_out: null,
    },
    text,
  };
}
