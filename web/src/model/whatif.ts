// SPDX-License-Identifier: Apache-2.0
// The what-if switches: every set of them was replayed by the program, the page only looks it up.
import type { Triple, WhatIf } from './page.js';
import { known } from './report.js';

/** The step with the switches of `mask` fixed; null where the report does not hold that set. */
export function stepFor(whatif: WhatIf, mask: number): Triple | null {
  return whatif.steps_ms[mask] ?? null;
}

/** Gains count from the step without the recorder, because that is the step people run. */
export function baseOf(whatif: WhatIf): number {
  return known(whatif.bare_ms)?.likely ?? whatif.measured_ms;
}

export interface Gain {
  ms: Triple;
  speedup: number;
  saved_ms: number;
}

export function gainOf(whatif: WhatIf, mask: number): Gain | null {
  const step = stepFor(whatif, mask);
  if (!step || step[1] <= 0) return null;
  const base = baseOf(whatif);
  return { ms: step, speedup: base / step[1], saved_ms: base - step[1] };
}

/** What one more switch gives on top of those that are set, or what it gives now if it is set. */
export function marginOf(whatif: WhatIf, mask: number, bit: number): number | null {
  const without = stepFor(whatif, mask & ~(1 << bit));
  const with_ = stepFor(whatif, mask | (1 << bit));
  return without && with_ ? without[1] - with_[1] : null;
}

/** The mask of the words that a finding names for `hone whatif --fix`; 0 where none is a switch. */
export function maskOf(whatif: WhatIf, fixes: string[]): number {
  let mask = 0;
  whatif.switches.forEach((one, bit) => {
    if (fixes.includes(one.id)) mask |= 1 << bit;
  });
  return mask;
}

/** The command that gives the same answer in a terminal. */
export function commandFor(whatif: WhatIf, mask: number, trace: string): string | null {
  const names = whatif.switches.filter((_, bit) => mask & (1 << bit)).map((one) => one.id);
  return names.length ? `hone whatif ${trace} --fix ${names.join(',')}` : null;
}
