// SPDX-License-Identifier: Apache-2.0
// Who holds the memory at the peak: operators, and lines of the user's code.
import { useMemo } from 'preact/hooks';
import { MEMORY_LINES, MEMORY_OPS } from '../model/columns.js';
import type { Memory, MemoryDevice, Row } from '../model/report.js';
import { known, whyAbsent } from '../model/report.js';
import { Missing, Section } from '../widgets/parts.js';
import { Table } from '../widgets/table.js';

export function nameOf(device: MemoryDevice): string {
  return device.type === 'host' ? 'host' : `${device.type} ${device.device}`;
}

/** Rows with their share of the peak of their device. */
function withShare<T extends { device: string; live_at_peak_bytes: number }>(
  memory: Memory,
  rows: T[],
): Row[] {
  const peaks = new Map(memory.devices.map((one) => [nameOf(one), one.peak_allocated_bytes]));
  return rows.map((row) => {
    const peak = peaks.get(row.device);
    return { ...row, live_share: peak ? row.live_at_peak_bytes / peak : null };
  });
}

const byDevice = (memory: Memory) =>
  memory.devices.length > 1 ? [{ key: 'device', label: 'device' }] : [];

export function AtPeak({ memory }: { memory: Memory }) {
  const rows = useMemo(() => withShare(memory, memory.ops), [memory]);
  return (
    <Section title="What is alive at the peak" note="by the operator that allocated it">
      {rows.length ? (
        <Table
          id="memory"
          what="operators"
          rows={rows}
          columns={MEMORY_OPS}
          groups={byDevice(memory)}
          find={(row) => (typeof row['op'] === 'string' ? row['op'] : null)}
        />
      ) : (
        <Missing what="Operators" why="allocations are not linked to operators in this trace" />
      )}
    </Section>
  );
}

export function LinesAtPeak({ memory }: { memory: Memory }) {
  const lines = known(memory.lines);
  const rows = useMemo(() => withShare(memory, lines ?? []), [memory, lines]);
  const why =
    whyAbsent(memory.lines) ??
    'no allocation has a line of your code; record with hone run, or with_stack=True';
  return (
    <Section title="Lines of your code" note="what each holds at the peak, and what it keeps">
      {rows.length ? (
        <Table
          id="memory_lines"
          what="lines"
          rows={rows}
          columns={MEMORY_LINES}
          groups={byDevice(memory)}
        />
      ) : (
        <Missing what="Lines" why={why} />
      )}
    </Section>
  );
}
