// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef } from 'preact/hooks';
import type { KeyHelp } from './contract.js';
import { KEYS as FLAME_KEYS } from './flame.js';
import { KEYS as TIMELINE_KEYS } from './timeline.js';

const PAGE_KEYS: KeyHelp[] = [
  { keys: '?', what: 'this list' },
  { keys: '[  ]', what: 'previous and next view' },
  { keys: '/', what: 'filter the table, search the timeline' },
  { keys: 'Tab, Enter, Space', what: 'reach and press what is on the page' },
  { keys: 'Esc', what: 'close' },
];
const TABLE_KEYS: KeyHelp[] = [
  { keys: '↑ ↓ PgUp PgDn', what: 'walk the rows; the row in full stands below' },
  { keys: 'Home End', what: 'first and last row' },
];

function Keys({ title, list }: { title: string; list: KeyHelp[] }) {
  if (!list.length) return null;
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {list.map((key) => (
          <div key={key.keys}>
            <dt>
              <kbd>{key.keys}</kbd>
            </dt>
            <dd>{key.what}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

export function KeysDialog({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="keys" onClose={onClose} aria-label="keys">
      <Keys title="Everywhere" list={PAGE_KEYS} />
      <Keys title="Tables" list={TABLE_KEYS} />
      <Keys title="Timeline" list={TIMELINE_KEYS} />
      <Keys title="Flame chart" list={FLAME_KEYS} />
      <p>
        <button type="button" onClick={() => dialog.current?.close()}>
          close
        </button>
      </p>
    </dialog>
  );
}
