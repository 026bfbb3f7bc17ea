// SPDX-License-Identifier: Apache-2.0
// Where a step goes: work first, then idle, each largest first, with a colour and a pattern for each
// cause, so that a place keeps its look on every page.
import type { Share } from './page.js';

export type Pattern = 'solid' | 'empty' | 'rising' | 'falling' | 'cross' | 'dots';

export interface Look {
  color: string;
  pattern: Pattern;
}

export interface Segment extends Share {
  idle: boolean;
  look: Look;
}

const LOOKS: Record<string, Look> = {
  compute: { color: 'var(--c-compute)', pattern: 'solid' },
  copy: { color: 'var(--c-copy)', pattern: 'solid' },
  comm: { color: 'var(--c-comm)', pattern: 'solid' },
  'idle:waiting-for-data': { color: 'var(--c-data)', pattern: 'rising' },
  'idle:synchronization': { color: 'var(--c-sync)', pattern: 'falling' },
  'idle:copy': { color: 'var(--c-copy)', pattern: 'rising' },
  'idle:communication': { color: 'var(--c-comm)', pattern: 'rising' },
  'idle:allocator': { color: 'var(--c-alloc)', pattern: 'dots' },
  'idle:launch': { color: 'var(--c-sync)', pattern: 'rising' },
  'idle:host-work': { color: 'var(--c-host)', pattern: 'falling' },
  'idle:device-overhead': { color: 'var(--c-other)', pattern: 'dots' },
};
const OTHER: Look = { color: 'var(--c-other)', pattern: 'cross' };

export function lookOf(id: string): Look {
  return LOOKS[id] ?? OTHER;
}

const HOST_LOOKS: Look[] = [
  { color: 'var(--c-host)', pattern: 'falling' },
  { color: 'var(--c-compute)', pattern: 'rising' },
  { color: 'var(--c-comm)', pattern: 'dots' },
  { color: 'var(--c-copy)', pattern: 'cross' },
  { color: 'var(--c-alloc)', pattern: 'falling' },
  { color: 'var(--c-sync)', pattern: 'rising' },
];

/** Looks of the parts of a host, which have no kinds of their own. */
export function hostLook(index: number): Look {
  return HOST_LOOKS[index] ?? OTHER;
}

/** Segments of the bar, in the order in which they stand; what is 0 is left out. */
export function segmentsOf(shares: Share[]): Segment[] {
  return shares
    .filter((part) => part.ms > 0)
    .map((part) => ({ ...part, idle: part.id.startsWith('idle'), look: lookOf(part.id) }))
    .sort((a, b) => Number(a.idle) - Number(b.idle) || b.ms - a.ms);
}

export interface Split {
  total_ms: number;
  work_ms: number;
  idle_ms: number;
}

export function splitOf(segments: Segment[]): Split {
  let work_ms = 0;
  let idle_ms = 0;
  for (const part of segments) {
    if (part.idle) idle_ms += part.ms;
    else work_ms += part.ms;
  }
  return { total_ms: work_ms + idle_ms, work_ms, idle_ms };
}
