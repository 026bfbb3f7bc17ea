// SPDX-License-Identifier: Apache-2.0
import { labelOf } from '../views/timeline/time_text.js';
import { memo } from './memo.js';
import * as format from '../model/format.js';
import type { Row } from '../model/report.js';
import type { TableColumn } from '../model/table.js';
import { isNumeric, nextSort } from '../model/table.js';

const DEFAULT_CH = {
  text: 24,
  ms: 12,
  us: 11,
  count: 10,
  share: 10,
  pct: 10,
  bytes: 12,
  number: 11,
};
/** The space beside the text of a cell, and the arrow of the sorted head. */
const PADDING_CH = 5;

function widthOf(column: TableColumn, index: number): number {
  const wanted = column.width ?? DEFAULT_CH[column.kind];
  return Math.max(
    wanted,
    column.label.length + PADDING_CH,
    index === 0 && !isNumeric(column) ? 18 : 0,
  );
}

/** Widths of the columns; the first text column takes most of what is left, and of a narrow window
 *  not all. */
export function templateOf(columns: TableColumn[]): Record<'template' | 'width' | 'paper', string> {
  const widths = columns.map(widthOf);
  const template = columns.map((column, index) => {
    const width = widths[index] ?? 0;
    if (isNumeric(column)) return `${width}ch`;
    if (index === 0) return `minmax(min(${width}ch, 42vw), 6fr)`;
    return `minmax(${width}ch, ${width > 15 ? 1 : 0.2}fr)`;
  });
  const [first = 0, ...rest] = widths;
  const others = rest.reduce((sum, one) => sum + one, 0);
  // On paper nothing scrolls: the same widths as shares of the sheet.
  const paper = widths.map((width) => `minmax(0, ${width}fr)`).join(' ');
  return {
    template: template.join(' '),
    paper,
    width: `calc(${others}ch + min(${first}ch, 42vw))`,
  };
}

export function cellText(row: Row, column: TableColumn): string {
  const value = row[column.key];
  if (value === null || value === undefined || value === '') return format.UNKNOWN;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'number') return typeof value === 'string' ? value : format.UNKNOWN;
  switch (column.kind) {
    case 'ms':
      return format.fixed(value, 3);
    case 'us':
      return format.fixed(value, 1);
    case 'share':
      return format.share(value);
    case 'pct':
      return `${format.fixed(value, 1)} %`;
    case 'bytes':
      return format.bytes(value);
    case 'count':
      return format.count(value);
    default:
      return format.significant(value);
  }
}

interface HeadProps {
  columns: TableColumn[];
  sort: string;
  onSort: (sort: string) => void;
}

export function TableHead({ columns, sort, onSort }: HeadProps) {
  return (
    <div class="grid-head" role="row">
      {columns.map((column) => {
        const falls = sort === `-${column.key}`;
        const rises = sort === column.key;
        return (
          <div
            key={column.key}
            role="columnheader"
            aria-sort={falls ? 'descending' : rises ? 'ascending' : 'none'}
            class={isNumeric(column) ? 'num' : ''}
          >
            <button
              type="button"
              title={column.title ?? `sort by ${column.label}`}
              onClick={() => onSort(nextSort(sort, column))}
            >
              {column.label}
              <span aria-hidden="true">{falls ? ' ▼' : rises ? ' ▲' : ''}</span>
            </button>
          </div>
        );
      })}
    </div>
  );
}

interface RowProps {
  row: Row;
  index: number;
  columns: TableColumn[];
  selected: boolean;
  onSelect: (index: number | null) => void;
}

export const TableRow = memo(function TableRow(props: RowProps) {
  const { row, index, columns, selected, onSelect } = props;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      class={selected ? 'grid-row selected' : 'grid-row'}
      onClick={() => onSelect(selected ? null : index)}
    >
      {columns.map((column) => {
        const text = cellText(row, column);
        const value = row[column.key];
        return (
          <div
            key={column.key}
            role="cell"
            class={isNumeric(column) ? 'num' : 'text'}
            {...(isNumeric(column) ? {} : { title: text })}
          >
            {column.kind === 'share' && typeof value === 'number' && (
              <i class="meter" style={{ width: `${Math.max(0, Math.min(1, value)) * 100}%` }} />
            )}
            <span>{column.short ? labelOf(text) : text}</span>
          </div>
        );
      })}
    </div>
  );
});
