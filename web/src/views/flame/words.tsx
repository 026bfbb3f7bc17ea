// SPDX-License-Identifier: Apache-2.0
// The flame chart in words: the picked node, and self time by name under what is zoomed into.
import { useMemo } from 'preact/hooks';
import { countText, durationText, labelOf, percentText } from '../timeline/time_text.js';
import type { FlameEngine } from './engine.js';
import { selfByName, type Icicle } from './tree.js';

const MOST = 60;

/** Name first. "calls" are samples where the tree comes from samples. */
export function describeNode(icicle: Icicle, strings: string[], node: number): [string, string][] {
  const { tree, total, self, whole, weight } = icicle;
  const parent = tree.parent[node]!;
  const facts: [string, string][] = [
    [weight === 'device' ? 'device total' : 'total', durationText(total[node]!)],
    [weight === 'device' ? 'device self' : 'self', durationText(self[node]!)],
    ['of all', percentText(whole > 0 ? total[node]! / whole : 0)],
  ];
  if (parent >= 0 && total[parent]! > 0) {
    facts.push([
      `of ${labelOf(strings[tree.name[parent]!]!)}`,
      percentText(total[node]! / total[parent]!),
    ]);
  }
  if (weight === 'device') facts.push(['host total', durationText(tree.total[node]!)]);
  else if (tree.device) facts.push(['device total', durationText(tree.device[node]!)]);
  facts.push([tree.sampled ? 'samples' : 'calls', countText(tree.calls[node]!)]);
  return facts;
}

interface Props {
  engine: FlameEngine;
  icicle: Icicle;
}

export function NodeDetails({ engine, icicle }: Props) {
  const node = engine.selected;
  const { strings } = engine;
  if (node < 0) return null;
  return (
    <section class="tl-details" aria-label="picked node">
      <h3 class="tl-name">{strings[icicle.tree.name[node]!]}</h3>
      <dl class="tl-facts fl-facts" aria-live="polite">
        {describeNode(icicle, strings, node).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {node !== engine.focus && (
        <p class="tl-actions">
          <button type="button" onClick={() => engine.zoomTo(node)}>
            zoom in <kbd>Enter</kbd>
          </button>
        </p>
      )}
    </section>
  );
}

export function SelfTable({ engine, icicle, focus }: Props & { focus: number }) {
  const { strings } = engine;
  const sums = useMemo(() => selfByName(icicle, strings, focus, MOST), [icicle, strings, focus]);
  const whole = focus < 0 ? icicle.whole : icicle.total[focus]!;
  const { sampled } = icicle.tree;
  return (
    <section class="tl-sums" aria-label="self time by name">
      <h3>
        {icicle.weight === 'device' ? 'Device self time' : 'Self time'} by name{' '}
        <span class="tl-quiet">
          {focus < 0 ? 'everywhere' : `under ${labelOf(strings[icicle.tree.name[focus]!]!)}`}
        </span>
      </h3>
      <table>
        <thead>
          <tr>
            <th scope="col">name</th>
            <th scope="col" class="num">
              {sampled ? 'samples' : 'calls'}
            </th>
            <th scope="col" class="num">
              self
            </th>
            <th scope="col" class="num">
              share
            </th>
          </tr>
        </thead>
        <tbody>
          {sums.map((sum) => (
            <tr key={sum.name}>
              <td>
                <button
                  type="button"
                  class="tl-row"
                  title={strings[sum.name]}
                  onClick={() => engine.select(sum.node)}
                >
                  {labelOf(strings[sum.name]!)}
                </button>
              </td>
              <td class="num">{countText(sum.calls)}</td>
              <td class="num">{durationText(sum.self)}</td>
              <td class="num">{percentText(whole > 0 ? sum.self / whole : 0)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
