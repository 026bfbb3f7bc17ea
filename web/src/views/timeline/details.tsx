// SPDX-License-Identifier: Apache-2.0
// What is picked, in words: a row with what launched it and what it launched, or an idle gap.
import { KIND_DEVICE, KINDS, NO_ROW } from '../../model/rows.js';
import { laneTitle } from './draw_lanes.js';
import type { Engine } from './engine.js';
import { laneOfRow, stepAt } from './lanes.js';
import { enclosing } from './relations.js';
import { countText, durationText, momentText } from './time_text.js';

interface Props {
  engine: Engine;
  onPick: (row: number) => void;
}

export function Details({ engine, onPick }: Props) {
  const { selection } = engine;
  if (!selection) return null;
  return (
    <section class="tl-details" aria-label="selection">
      {selection.type === 'row' ? (
        <RowDetails engine={engine} row={selection.row} onPick={onPick} />
      ) : (
        <GapDetails engine={engine} gap={selection.gap} onPick={onPick} />
      )}
      <p class="tl-actions">
        <button type="button" onClick={() => engine.fit()}>
          fit <kbd>f</kbd>
        </button>
        <button type="button" onClick={() => engine.setSpan(engine.extent(selection))}>
          sum this span <kbd>m</kbd>
        </button>
        <button type="button" onClick={() => engine.select(null)}>
          drop <kbd>Esc</kbd>
        </button>
      </p>
    </section>
  );
}

function RowDetails({ engine, row, onPick }: Props & { row: number }) {
  const { model, relations } = engine;
  const { rows, header } = model;
  const start = rows.start[row]!;
  const lane = model.lanes[laneOfRow(model, row)];
  const step = model.steps[stepAt(model.steps, start)];
  const detail = header.strings[rows.detail[row]!];
  const kind = rows.kind[row]!;
  const around = enclosing(model, row);
  return (
    <>
      <h3 class="tl-name">{header.strings[rows.name[row]!]}</h3>
      <dl class="tl-facts">
        <Fact name="kind">{KINDS[kind]}</Fact>
        <Fact name="duration">
          <b>{durationText(rows.duration[row]!)}</b>
        </Fact>
        <Fact name="start">{momentText(start, rows.duration[row]! * 10)}</Fact>
        {detail && <Fact name={detailWord(kind)}>{detail}</Fact>}
        {lane && <Fact name="lane">{laneTitle(lane)}</Fact>}
        <Fact name="step">
          {step ? `${step.name}${step.warm_up ? ' (warm-up)' : ''}` : 'in no step'}
        </Fact>
        {around.length > 0 && (
          <Fact name="inside">
            <RowList engine={engine} rows={around.slice(0, 4)} onPick={onPick} />
            {around.length > 4 && <span> and {around.length - 4} more around</span>}
          </Fact>
        )}
        {relations && <Links engine={engine} row={row} onPick={onPick} />}
      </dl>
    </>
  );
}

/** The words for the column `detail`, which holds another thing for each kind. */
function detailWord(kind: number): string {
  if (kind === 0) return 'shapes';
  if (kind === KIND_DEVICE) return 'launch';
  if (kind === 8 || kind === 9) return 'bytes';
  return 'detail';
}

function Links({ engine, row, onPick }: Props & { row: number }) {
  const { relations, model } = engine;
  if (!relations) return null;
  const device = model.rows.kind[row]! >= KIND_DEVICE;
  const { launchedBy, operator, forward, backward, launched, launchedCount } = relations;
  const list = (rows: number[]) => <RowList engine={engine} rows={rows} onPick={onPick} />;
  return (
    <>
      {device && (
        <Fact name="launched by">
          {launchedBy === null ? 'no call in the trace leads here' : list([launchedBy])}
          {launchedBy !== null && <Delay engine={engine} call={launchedBy} row={row} />}
        </Fact>
      )}
      {device && operator !== null && operator !== launchedBy && (
        <Fact name="operator">{list([operator])}</Fact>
      )}
      {forward !== null && <Fact name="forward operator">{list([forward])}</Fact>}
      {backward.length > 0 && (
        <Fact name="backward operator">
          {list(backward.slice(0, 3))}
          {backward.length > 3 && <span> and {countText(backward.length - 3)} more</span>}
        </Fact>
      )}
      {launchedCount > 0 && (
        <Fact name="launched">
          <span>
            {countText(launchedCount)} on the device, {durationText(relations.launchedNs)} together
          </span>
          {list(launched.slice(0, 5))}
          {launchedCount > 5 && <span> and {countText(launchedCount - 5)} more</span>}
        </Fact>
      )}
    </>
  );
}

function Delay({ engine, call, row }: { engine: Engine; call: number; row: number }) {
  const { start } = engine.model.rows;
  const delay = start[row]! - start[call]!;
  return delay >= 0 ? (
    <span class="tl-quiet">{durationText(delay)} after the call began</span>
  ) : null;
}

function GapDetails({ engine, gap, onPick }: Props & { gap: number }) {
  const { model } = engine;
  const { gaps } = model.rows;
  const cause = model.gapCauses[gaps.cause[gap]!];
  const blamed = gaps.blamed[gap]!;
  const step = model.steps[stepAt(model.steps, gaps.start[gap]!)];
  return (
    <>
      <h3 class="tl-name">
        GPU {model.gapDevice} idle: {cause?.text}
      </h3>
      <dl class="tl-facts">
        <Fact name="duration">
          <b>{durationText(gaps.duration[gap]!)}</b>
        </Fact>
        <Fact name="start">{momentText(gaps.start[gap]!, gaps.duration[gap]! * 10)}</Fact>
        <Fact name="step">{step ? step.name : 'in no step'}</Fact>
        <Fact name="explained by">
          {blamed === NO_ROW ? (
            'no single row'
          ) : (
            <RowList engine={engine} rows={[blamed]} onPick={onPick} />
          )}
        </Fact>
      </dl>
    </>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function RowList({ engine, rows, onPick }: Props & { rows: number[] }) {
  const { header, rows: columns } = engine.model;
  return (
    <>
      {rows.map((row) => (
        <button key={row} type="button" class="tl-row" onClick={() => onPick(row)}>
          <span class="tl-row-name">{header.strings[columns.name[row]!]}</span>
          <span class="tl-row-time">{durationText(columns.duration[row]!)}</span>
        </button>
      ))}
    </>
  );
}
