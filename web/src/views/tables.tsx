// SPDX-License-Identifier: Apache-2.0
// Tables of operators, kernels, copies and waits, Python: what the report lists, whole.
import { useMemo } from 'preact/hooks';
import { KERNELS, OPS, PYTHON, SYNCS, TRANSFERS, withGroupBy } from '../model/columns.js';
import * as format from '../model/format.js';
import type { Row } from '../model/report.js';
import { known, whyAbsent } from '../model/report.js';
import { usePage } from '../widgets/context.js';
import { Missing, Section } from '../widgets/parts.js';
import { Table } from '../widgets/table.js';
import { KernelSizes, Launches } from './launches.js';

const nameOf = (row: Row) => (typeof row['name'] === 'string' ? row['name'] : null);

export function Ops() {
  const { report } = usePage();
  const rows = known(report.ops);
  const columns = useMemo(() => withGroupBy(OPS, rows ?? [], report.group_by), [rows]);
  return (
    <Section title="Operators" note="device time is that of what they launch">
      {rows?.length ? (
        <Table
          id="ops"
          what="operators"
          rows={rows}
          columns={columns}
          groups={[{ key: 'kind', label: 'kind' }]}
          find={nameOf}
        />
      ) : (
        <Missing what="Operators" why={whyAbsent(report.ops) ?? 'the trace has none'} />
      )}
    </Section>
  );
}

export function Kernels() {
  const { report } = usePage();
  const rows = known(report.kernels);
  const columns = useMemo(() => withGroupBy(KERNELS, rows ?? [], report.group_by), [rows]);
  return (
    <>
      <Section title="Kernels" note="all work of the devices, copies too">
        {rows?.length ? (
          <Table
            id="kernels"
            what="kernels"
            rows={rows}
            columns={columns}
            groups={[
              { key: 'op', label: 'launched by' },
              { key: 'class', label: 'class' },
              { key: 'kind', label: 'kind' },
            ]}
            find={nameOf}
          />
        ) : (
          <Missing what="Kernels" why={whyAbsent(report.kernels) ?? 'the trace has none'} />
        )}
      </Section>
      <div class="two">
        <KernelSizes />
        <Launches />
      </div>
    </>
  );
}

export function Transfers() {
  const { report } = usePage();
  const copies = known(report.transfers);
  const waits = known(report.syncs);
  const shown = useMemo(
    () => waits?.map((row) => ({ ...row, by_profiler: row['by_profiler'] ? 'yes' : 'no' })),
    [waits],
  );
  return (
    <>
      <Section title="Copies" note="to, from and on the devices">
        {copies?.length ? (
          <Table id="transfers" what="copies" rows={copies} columns={TRANSFERS} />
        ) : (
          <Missing what="Copies" why={whyAbsent(report.transfers) ?? 'the trace has none'} />
        )}
      </Section>
      <Section title="Host waits" note="calls in which the host waits for a device">
        {shown?.length ? (
          <Table
            id="syncs"
            what="waits"
            rows={shown}
            columns={SYNCS}
            groups={[
              { key: 'call', label: 'call' },
              { key: 'where', label: 'where' },
            ]}
          />
        ) : (
          <Missing what="Host waits" why={whyAbsent(report.syncs) ?? 'the trace has none'} />
        )}
      </Section>
    </>
  );
}

export function PythonTables() {
  const { report } = usePage();
  const python = known(report.python);
  if (!python) {
    return (
      <Section title="Python">
        <Missing what="Python" why={whyAbsent(report.python) ?? 'no Python frames'} />
      </Section>
    );
  }
  const lines = python.lines_are_definitions
    ? 'the trace names where functions begin, not the line that ran'
    : 'the line that ran';
  return (
    <>
      <Section title="Python functions" note={format.plural(python.functions.length, 'function')}>
        <Table
          id="functions"
          what="functions"
          rows={python.functions}
          columns={PYTHON}
          groups={[{ key: 'file', label: 'file' }]}
          find={nameOf}
        />
      </Section>
      <Section title="Your code" note={lines}>
        {python.lines.length ? (
          <Table id="lines" what="lines" rows={python.lines} columns={PYTHON} find={nameOf} />
        ) : (
          <Missing what="Lines" why="no operator was called from a file of the program" />
        )}
      </Section>
    </>
  );
}
