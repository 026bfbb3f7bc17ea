// SPDX-License-Identifier: Apache-2.0
// One stacked bar, labelled directly. Work is solid, idle is hatched, so that it reads in grey.
import * as format from '../model/format.js';
import type { Pattern } from '../model/shares.js';

export interface BarPart {
  id: string;
  text: string;
  ms: number;
  color: string;
  pattern: Pattern;
}

export function Swatch({ color, pattern }: { color: string; pattern: Pattern }) {
  return <i class={`swatch p-${pattern}`} style={{ '--c': color }} aria-hidden="true" />;
}

/** A label needs about this share of the bar to be readable; less goes to the list below. */
const LABEL_SHARE = 0.09;

interface Props {
  parts: BarPart[];
  /** What the full width stands for; parts may be less. */
  total: number;
  label: string;
  /** Chosen part, and what to do on a click. */
  onPick?: (id: string) => void;
}

export function StackBar({ parts, total, label, onPick }: Props) {
  return (
    <div class="bar" role="img" aria-label={label}>
      {parts.map((part) => {
        const share = total > 0 ? part.ms / total : 0;
        const said = `${part.text}: ${format.ms(part.ms)} ms, ${format.share(share)}`;
        return (
          <div
            key={part.id}
            class={`part p-${part.pattern}`}
            style={{ '--c': part.color, width: `${share * 100}%` }}
            title={said}
            {...(onPick ? { onClick: () => onPick(part.id) } : {})}
          >
            {share >= LABEL_SHARE && (
              <span class="in">
                <b>{part.text}</b> <span class="n">{format.ms(part.ms)} ms</span>
              </span>
            )}
          </div>
        );
      })}
    </div>
  );
}
