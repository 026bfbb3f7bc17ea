// SPDX-License-Identifier: Apache-2.0
// A table of any length: only the rows in view are in the document. Sorted by its heads, filtered,
// gathered, walked by arrow keys, copied as CSV.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { plural } from '../model/format.js';
import type { Row } from '../model/report.js';
import { PLAIN_TABLE } from '../model/state.js';
import type { TableColumn } from '../model/table.js';
import { csvOf, shownRows } from '../model/table.js';
import { usePage } from './context.js';
import { CopyButton } from './copy.js';
import { TableDetail } from './table_detail.js';
import { TableHead, TableRow, templateOf } from './table_row.js';
import { usePrinting } from './printing.js';

const ROW_PX = 24;
const OVERSCAN = 12;
const PRINTED_ROWS = 100;

interface Props {
  id: string;
  /** What a row is, in the plural: "kernels". */
  what: string;
  rows: Row[];
  columns: TableColumn[];
  groups?: { key: string; label: string }[];
  /** The text by which the timeline can find a row; none: no way there. */
  find?: (row: Row) => string | null;
}

export function Table({ id, what, rows, columns, groups, find }: Props) {
  const { state, patchTable } = usePage();
  const shown = state.tables[id] ?? PLAIN_TABLE;
  const list = useMemo(() => shownRows(rows, columns, shown), [rows, columns, shown]);
  const used = useMemo(() => columnsFor(columns, shown.group), [columns, shown.group]);
  const [selected, setSelected] = useState<number | null>(null);
  useEffect(() => setSelected(null), [shown]);
  const row = selected === null ? undefined : list[selected];

  return (
    <div class="table-box">
      <div class="table-tools noprint">
        <input
          type="search"
          data-find
          placeholder={`filter ${what} ( / )`}
          aria-label={`filter ${what}; words must all occur, -word must not`}
          value={shown.filter}
          onInput={(event) => patchTable(id, { filter: event.currentTarget.value })}
        />
        {groups && groups.length > 0 && (
          <label>
            group{' '}
            <select
              value={shown.group}
              onChange={(event) => patchTable(id, { group: event.currentTarget.value })}
            >
              <option value="">none</option>
              {groups.map((group) => (
                <option key={group.key} value={group.key}>
                  {group.label}
                </option>
              ))}
            </select>
          </label>
        )}
        <span class="table-count" aria-live="polite">
          {list.length === rows.length
            ? plural(rows.length, 'row')
            : `${plural(list.length, 'row')} of ${rows.length.toLocaleString('en-US')}`}
        </span>
        <CopyButton
          label="copy CSV"
          title={`copy the shown ${what} as CSV`}
          text={() => csvOf(list, used)}
        />
      </div>
      <Grid
        id={id}
        what={what}
        list={list}
        columns={used}
        sort={shown.sort}
        onSort={(sort) => patchTable(id, { sort })}
        selected={selected}
        onSelect={setSelected}
      />
      {row && (
        <TableDetail
          row={row}
          columns={used}
          find={find?.(row) ?? null}
          onClose={() => setSelected(null)}
        />
      )}
    </div>
  );
}

/** The grouped column comes first, and with it how many rows each stands for. */
function columnsFor(columns: TableColumn[], group: string): TableColumn[] {
  const first = columns.find((column) => column.key === group);
  if (!first) return columns;
  const rest = columns.filter((column) => column !== first);
  const texts = rest.filter((column) => column.kind === 'text');
  const numbers = rest.filter((column) => column.kind !== 'text');
  return [first, { key: 'rows', label: 'rows', kind: 'count', width: 6 }, ...numbers, ...texts];
}

interface GridProps {
  id: string;
  what: string;
  list: Row[];
  columns: TableColumn[];
  sort: string;
  onSort: (sort: string) => void;
  selected: number | null;
  onSelect: (index: number | null) => void;
}

function Grid({ id, what, list, columns, sort, onSort, selected, onSelect }: GridProps) {
  const box = useRef<HTMLDivElement>(null);
  const printing = usePrinting();
  const [view, setView] = useState({ first: 0, last: 60 });
  const look = () => {
    const element = box.current;
    if (!element) return;
    const first = Math.max(0, Math.floor(element.scrollTop / ROW_PX) - OVERSCAN);
    const last = Math.ceil((element.scrollTop + element.clientHeight) / ROW_PX) + OVERSCAN;
    setView((old) => (old.first === first && old.last === last ? old : { first, last }));
  };
  useEffect(() => {
    look();
    const watcher = new ResizeObserver(look);
    if (box.current) watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);

  const go = (index: number) => {
    const to = Math.max(0, Math.min(list.length - 1, index));
    onSelect(to);
    const element = box.current;
    if (!element) return;
    const top = to * ROW_PX;
    const room = element.clientHeight - 2 * ROW_PX;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top > element.scrollTop + room) element.scrollTop = top - room;
  };
  const keys = (event: KeyboardEvent) => {
    if (event.target !== box.current) return;
    const page = Math.floor((box.current?.clientHeight ?? 240) / ROW_PX) - 2;
    const moves: Record<string, number> = {
      ArrowDown: selected === null ? 0 : selected + 1,
      ArrowUp: (selected ?? 0) - 1,
      PageDown: (selected ?? 0) + page,
      PageUp: (selected ?? 0) - page,
      Home: 0,
      End: list.length - 1,
    };
    const to = moves[event.key];
    if (event.key === 'Escape') onSelect(null);
    else if (to !== undefined && list.length > 0) go(to);
    else return;
    event.preventDefault();
  };

  const first = printing ? 0 : Math.min(view.first, list.length);
  const last = printing ? Math.min(PRINTED_ROWS, list.length) : Math.min(view.last, list.length);
  const { template, width, paper } = templateOf(columns);
  return (
    <div
      class="grid"
      role="table"
      id={`table-${id}`}
      aria-label={what}
      aria-rowcount={list.length + 1}
      tabIndex={0}
      ref={box}
      onScroll={look}
      onKeyDown={keys}
      style={{ '--cols': template, '--width': width, '--paper': paper }}
    >
      <TableHead columns={columns} sort={sort} onSort={onSort} />
      <div class="grid-body" style={printing ? {} : { height: `${list.length * ROW_PX}px` }}>
        <div style={printing ? {} : { transform: `translateY(${first * ROW_PX}px)` }}>
          {list.slice(first, last).map((row, offset) => (
            <TableRow
              key={first + offset}
              row={row}
              index={first + offset}
              columns={columns}
              selected={selected === first + offset}
              onSelect={onSelect}
            />
          ))}
        </div>
      </div>
      {list.length === 0 && <p class="empty">no row holds all of these words</p>}
      {printing && last < list.length && (
        <p class="empty">{list.length - last} more rows are in the page, not on paper</p>
      )}
    </div>
  );
}
