// SPDX-License-Identifier: Apache-2.0
/** Search over names: by substring (case does not matter) or by /regex/. */
import type { Model } from './lanes.js';

export interface Matches {
  query: string;
  /** Why the query finds nothing, if it is no valid one. */
  error: string | null;
  count: number;
  /** By string: does it match. */
  byName: Uint8Array;
  /** By position in model.set: matching rows before it; one longer than the boxes. */
  before: Uint32Array;
}

export function compileQuery(query: string): ((name: string) => boolean) | { error: string } {
  const regex = /^\/(.+)\/([imsu]*)$/.exec(query);
  if (!regex) {
    const wanted = query.toLowerCase();
    return (name) => name.toLowerCase().includes(wanted);
  }
  try {
    const expression = new RegExp(regex[1]!, regex[2]);
    return (name) => expression.test(name);
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** Each distinct name is tried once, then one pass over the rows. Null for an empty query. */
export function findMatches(model: Model, query: string): Matches | null {
  if (query === '' || query === '/') return null;
  const byName = new Uint8Array(model.header.strings.length);
  const before = new Uint32Array(model.set.row.length + 1);
  const test = compileQuery(query);
  if (typeof test !== 'function') return { query, error: test.error, count: 0, byName, before };
  model.header.strings.forEach((name, id) => {
    byName[id] = test(name) ? 1 : 0;
  });
  const { row } = model.set;
  const { name } = model.rows;
  let count = 0;
  for (let p = 0; p < row.length; ++p) {
    before[p] = count;
    count += byName[name[row[p]!]!]!;
  }
  before[row.length] = count;
  return { query, error: null, count, byName, before };
}

/**
 * The match after (before, if backwards) `from` by start time, equal starts by row; round the end. -1 if there is none. From -1 the
 * one next to `time`. One pass over the rows: sorting a million matches would cost more than a hundred such steps.
 */
export function nextMatch(
  model: Model,
  matches: Matches,
  from: number,
  time: number,
  backwards: boolean,
): number {
  const { start, name, count } = model.rows;
  const at = from >= 0 ? start[from]! : time;
  const sign = backwards ? -1 : 1;
  let best = -1;
  let around = -1;
  const earlier = (a: number, b: number) => {
    const by = (start[a]! - start[b]!) * sign;
    return by < 0 || (by === 0 && (a - b) * sign < 0);
  };
  for (let row = 0; row < count; ++row) {
    if (matches.byName[name[row]!] === 0) continue;
    const by = (start[row]! - at) * sign;
    const after = from >= 0 ? by > 0 || (by === 0 && (row - from) * sign > 0) : by >= 0;
    if (after) {
      if (best < 0 || earlier(row, best)) best = row;
    } else if (around < 0 || earlier(row, around)) {
      around = row;
    }
  }
  return best >= 0 ? best : around;
}

/** How many matches come before `row` by time, itself counted: "3 of 120". 0 if it is no match. */
export function rankOf(model: Model, matches: Matches, row: number): number {
  const { start, name, count } = model.rows;
  if (row < 0 || matches.byName[name[row]!] === 0) return 0;
  let rank = 1;
  for (let other = 0; other < count; ++other) {
    if (matches.byName[name[other]!] === 0) continue;
    if (start[other]! < start[row]! || (start[other] === start[row] && other < row)) ++rank;
  }
  return rank;
}
