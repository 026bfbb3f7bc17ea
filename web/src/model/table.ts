// SPDX-License-Identifier: Apache-2.0
// Rows of a table: filtered, gathered, sorted and written as CSV. Nothing here knows of the DOM.
import type { Row } from './report.js';
import type { TableState } from './state.js';

export type CellKind = 'text' | 'ms' | 'us' | 'count' | 'share' | 'pct' | 'bytes' | 'number';

export interface TableColumn {
  key: string;
  label: string;
  kind: CellKind;
  /** What the column means, in one sentence. */
  title?: string;
  /** How rows gathered into one give this column; text columns: shown when all are the same. */
  gather?: 'sum' | 'max' | 'min' | 'none';
  /** Names of C++ that only their own code is longer than: shown by the part people know. */
  short?: true;
  /** Width in ch; the first text column takes what is left. */
  width?: number;
}

export function isNumeric(column: TableColumn): boolean {
  return column.kind !== 'text';
}

function numberOf(row: Row, key: string): number | null {
  const value = row[key];
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function textOf(row: Row, key: string): string {
  const value = row[key];
  if (value === null || value === undefined) return '';
  if (typeof value === 'object') return '';
  return String(value);
}

/** Rows that hold every word of `filter` in some text column; `-word` leaves out rows that hold it. */
export function filterRows(rows: Row[], columns: TableColumn[], filter: string): Row[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return rows;
  const texts = columns.filter((column) => column.kind === 'text').map((column) => column.key);
  return rows.filter((row) => {
    const text = texts
      .map((key) => textOf(row, key))
      .join('\n')
      .toLowerCase();
    return words.every((word) =>
      word.length > 1 && word.startsWith('-') ? !text.includes(word.slice(1)) : text.includes(word),
    );
  });
}

/** One row for each value of `key`, in order of first sight; numbers are summed where that has a
 *  meaning, else left out. `rows` of a gathered row says how many it stands for. */
export function groupRows(rows: Row[], columns: TableColumn[], key: string): Row[] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const name = textOf(row, key);
    const group = groups.get(name);
    if (group) group.push(row);
    else groups.set(name, [row]);
  }
  return [...groups].map(([name, members]) => gatherRow(name, members, columns, key));
}

function gatherRow(name: string, members: Row[], columns: TableColumn[], key: string): Row {
  const gathered: Row = { rows: members.length };
  for (const column of columns) {
    if (column.key === key) gathered[key] = name;
    else if (!isNumeric(column)) gathered[column.key] = commonText(members, column.key);
    else gathered[column.key] = combine(members, column);
  }
  return gathered;
}

function commonText(members: Row[], key: string): string {
  const first = members[0] ? textOf(members[0], key) : '';
  if (members.every((row) => textOf(row, key) === first)) return first;
  return `${new Set(members.map((row) => textOf(row, key))).size} different`;
}

function combine(members: Row[], column: TableColumn): number | null {
  if (!column.gather || column.gather === 'none') {
    return members.length === 1 && members[0] ? numberOf(members[0], column.key) : null;
  }
  let result: number | null = null;
  for (const row of members) {
    const value = numberOf(row, column.key);
    if (value === null) continue;
    if (result === null) result = value;
    else if (column.gather === 'sum') result += value;
    else result = column.gather === 'max' ? Math.max(result, value) : Math.min(result, value);
  }
  return result;
}

/** Sorted copy; what is unknown stands last either way, equal rows keep their order. */
export function sortRows(rows: Row[], columns: TableColumn[], sort: string): Row[] {
  const falls = sort.startsWith('-');
  const column = columns.find((one) => one.key === (falls ? sort.slice(1) : sort));
  if (!column) return rows;
  const sign = falls ? -1 : 1;
  if (isNumeric(column)) {
    return rows
      .map((row) => ({ row, value: numberOf(row, column.key) }))
      .sort((a, b) => {
        if (a.value === null || b.value === null) {
          return Number(a.value === null) - Number(b.value === null);
        }
        return sign * (a.value - b.value);
      })
      .map(({ row }) => row);
  }
  return rows
    .map((row) => ({ row, value: textOf(row, column.key) }))
    .sort((a, b) => {
      if (!a.value || !b.value) return Number(!a.value) - Number(!b.value);
      return sign * (a.value < b.value ? -1 : a.value > b.value ? 1 : 0);
    })
    .map(({ row }) => row);
}

export function shownRows(rows: Row[], columns: TableColumn[], state: TableState): Row[] {
  const found = filterRows(rows, columns, state.filter);
  const groupable = columns.some((column) => column.key === state.group);
  return sortRows(groupable ? groupRows(found, columns, state.group) : found, columns, state.sort);
}

/** The next sort of a column on a click: numbers fall first, text rises first, then back. */
export function nextSort(sort: string, column: TableColumn): string {
  const first = isNumeric(column) ? `-${column.key}` : column.key;
  const second = isNumeric(column) ? column.key : `-${column.key}`;
  if (sort === first) return second;
  return sort === second ? '' : first;
}

/** RFC 4180 with line feeds, the names of the report, unknown cells empty: as --csv writes. */
export function csvOf(rows: Row[], columns: TableColumn[]): string {
  const cell = (text: string) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  const lines = [columns.map((column) => cell(column.key)).join(',')];
  for (const row of rows)
    lines.push(columns.map((column) => cell(textOf(row, column.key))).join(','));
  return `${lines.join('\n')}\n`;
}
