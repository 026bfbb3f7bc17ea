// SPDX-License-Identifier: Apache-2.0
// What is under the pointer. Written into the document by hand: it changes with every move.
import { KINDS } from '../../model/rows.js';
import { laneTitle } from './draw_lanes.js';
import type { Engine } from './engine.js';
import type { Hit } from './hit.js';
import type { Selection } from './frame.js';
import { laneOfRow } from './lanes.js';
import { durationText, momentText } from './time_text.js';

/** Name first, then what one wants to know of it. */
export function describe(engine: Engine, picked: Selection): string[] {
  const { model } = engine;
  if (!picked) return [];
  if (picked.type === 'gap') {
    const { gaps } = model.rows;
    const cause = model.gapCauses[gaps.cause[picked.gap]!]!;
    return [
      `GPU ${model.gapDevice} idle: ${cause.text}`,
      durationText(gaps.duration[picked.gap]!),
      `at ${momentText(gaps.start[picked.gap]!, gaps.duration[picked.gap]! * 10)}`,
    ];
  }
  const { rows, header } = model;
  const { row } = picked;
  const lane = model.lanes[laneOfRow(model, row)];
  return [
    header.strings[rows.name[row]!]!,
    `${durationText(rows.duration[row]!)} · ${KINDS[rows.kind[row]!]}`,
    `at ${momentText(rows.start[row]!, rows.duration[row]! * 10)}${lane ? ` · ${laneTitle(lane)}` : ''}`,
    header.strings[rows.detail[row]!]!,
  ].filter((line) => line !== '');
}

/** Lines beside the pointer; none hides the box. Text only: names are whatever a program says. */
export function writeTip(
  box: HTMLElement,
  lines: string[],
  canvas: HTMLElement,
  x: number,
  y: number,
): void {
  box.style.display = lines.length > 0 ? 'block' : 'none';
  if (lines.length === 0) return;
  box.replaceChildren(
    ...lines.map((line, i) => {
      const element = document.createElement(i === 0 ? 'b' : 'span');
      element.textContent = line.length > 300 ? `${line.slice(0, 300)}…` : line;
      return element;
    }),
  );
  const { offsetWidth, offsetHeight } = box;
  const { clientWidth, clientHeight } = canvas;
  const left = x + 14 + offsetWidth > clientWidth ? Math.max(0, x - offsetWidth - 10) : x + 14;
  const top = y + 16 + offsetHeight > clientHeight ? Math.max(0, y - offsetHeight - 10) : y + 16;
  box.style.transform = `translate(${left}px, ${top}px)`;
}

export class Tooltip {
  constructor(
    private readonly box: HTMLElement | null,
    private readonly engine: Engine,
  ) {}

  show(hit: Hit | null, x: number, y: number): void {
    const { canvas } = this.engine;
    const pressed = hit?.area === 'names' || hit?.area === 'steps' || hit?.pick;
    canvas.style.cursor = pressed ? 'pointer' : hit?.area === 'head' ? 'col-resize' : 'default';
    const step = this.engine.model.steps[hit?.step ?? -1];
    const lines = step
      ? [
          `${step.name}${step.warm_up ? ' (warm-up)' : ''}`,
          durationText(step.end_ns - step.start_ns),
          'click: sum it up',
        ]
      : describe(this.engine, hit?.pick ?? null);
    if (this.box) writeTip(this.box, lines, canvas, x, y);
  }
}
