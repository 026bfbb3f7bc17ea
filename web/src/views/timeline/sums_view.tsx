// SPDX-License-Identifier: Apache-2.0
// Sums per name of the marked span, or of what is in view: also what the canvas says to those who
// cannot see it.
import { useMemo, useState } from 'preact/hooks';
import { KINDS } from '../../model/rows.js';
import type { Engine } from './engine.js';
import { sumSpan } from './sums.js';
import { countText, durationText, labelOf, momentText } from './time_text.js';
import type { TimeWindow } from './window.js';

type Where = 'device' | 'host' | 'all';

interface Props {
  engine: Engine;
  /** Window that has been still for a moment. */
  window: TimeWindow;
  /** Changes when lanes are shown or hidden. */
  lanesVersion: number;
  onPick: (row: number) => void;
  onSearch: (query: string) => void;
}

const FIRST = 40;

export function SumsView({ engine, window, lanesVersion, onPick, onSearch }: Props) {
  const { span } = engine;
  const shown = span ?? window;
  const streams = engine.model.lanes.some((lane) => lane.kind === 'stream');
  const [where, setWhere] = useState<Where>(streams ? 'device' : 'all');
  const [most, setMost] = useState(FIRST);
  const sums = useMemo(
    () => sumSpan(engine.model, shown, engine.shownLanes(), where, most),
    [engine, shown.start, shown.end, where, most, lanesVersion],
  );
  const length = shown.end - shown.start;
  return (
    <section class="tl-sums" aria-label="sums per name">
      <h3>
        {span ? 'Marked span' : 'In view'}{' '}
        <span class="tl-quiet">
          {durationText(length)} from {momentText(Math.max(0, shown.start), length)}
        </span>
      </h3>
      <div class="tl-sums-tools">
        <div role="group" aria-label="rows of" class="tl-switch">
          {(['device', 'host', 'all'] as const).map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={where === one}
              onClick={() => setWhere(one)}
            >
              {one}
            </button>
          ))}
        </div>
        <span class="tl-quiet">{countText(sums.rows)} rows</span>
        {span && (
          <button type="button" onClick={() => engine.setSpan(null)}>
            drop span
          </button>
        )}
      </div>
      {sums.rows === 0 ? (
        <p class="tl-quiet">nothing runs here in the lanes shown</p>
      ) : (
        <table>
          <caption class="tl-unseen">
            Sums per name {span ? 'of the marked span' : 'of the window in view'}, largest first.
            The name picks the longest row.
          </caption>
          <thead>
            <tr>
              <th scope="col">name</th>
              <th scope="col" class="num">
                count
              </th>
              <th scope="col" class="num">
                total
              </th>
              <th scope="col" class="num">
                mean
              </th>
            </tr>
          </thead>
          <tbody>
            {sums.byName.map((sum) => {
              const name = engine.model.header.strings[sum.name]!;
              return (
                <tr key={`${sum.kind} ${sum.name}`}>
                  <td>
                    <button
                      type="button"
                      class="tl-row"
                      title={`${name}\n${KINDS[sum.kind]}; click: the longest, double click: search`}
                      onClick={() => onPick(sum.longest)}
                      onDblClick={() => onSearch(name)}
                    >
                      {labelOf(name)}
                    </button>
                  </td>
                  <td class="num">{countText(sum.count)}</td>
                  <td class="num">{durationText(sum.total)}</td>
                  <td class="num">{durationText(sum.total / sum.count)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
      {sums.left > 0 && (
        <button type="button" onClick={() => setMost(most + 200)}>
          {countText(sums.left)} more names
        </button>
      )}
    </section>
  );
}
