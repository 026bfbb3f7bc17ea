// SPDX-License-Identifier: Apache-2.0
import type { Row } from '../model/report.js';
import type { TableColumn } from '../model/table.js';
import { usePage } from './context.js';
import { CopyButton } from './copy.js';
import { cellText } from './table_row.js';

interface Props {
  row: Row;
  columns: TableColumn[];
  find: string | null;
  onClose: () => void;
}

/** One row in full: names are longer than any column. */
export function TableDetail({ row, columns, find, onClose }: Props) {
  const { patch } = usePage();
  const first = columns[0];
  const name = first ? cellText(row, first) : '';
  return (
    <aside class="detail" aria-label="the selected row">
      <div class="detail-head">
        <code>{name}</code>
        <span class="detail-tools">
          {find && (
            <button
              type="button"
              class="small"
              onClick={() => patch({ tab: 'timeline', search: find, finding: null })}
            >
              find in timeline
            </button>
          )}
          <CopyButton label="copy name" title="copy the name" text={() => name} />
          <button type="button" class="small" onClick={onClose} aria-label="close the details">
            close
          </button>
        </span>
      </div>
      <dl>
        {columns.slice(1).map((column) => (
          <div key={column.key}>
            <dt>{column.label}</dt>
            <dd>{cellText(row, column)}</dd>
          </div>
        ))}
      </dl>
    </aside>
  );
}
