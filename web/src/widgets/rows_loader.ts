// SPDX-License-Identifier: Apache-2.0
// Rows are opened once, after the first paint, whether or not somebody looks at them: who then goes
// to the timeline does not wait.
import { useEffect, useState } from 'preact/hooks';
import type { Rows } from '../model/rows.js';
import { loadRows } from '../model/rows.js';
import type { Report } from '../model/report.js';
import { known, readRowsText, whyAbsent } from '../model/report.js';

export type Loaded =
  { state: 'waiting' } | { state: 'ready'; rows: Rows } | { state: 'failed'; why: string };

let now: Loaded = { state: 'waiting' };
const watchers = new Set<(loaded: Loaded) => void>();

function settle(loaded: Loaded) {
  now = loaded;
  for (const watcher of watchers) watcher(loaded);
}

async function open(report: Report): Promise<Loaded> {
  const timeline = known(report.page?.timeline);
  const text = readRowsText();
  if (!timeline || text === null) {
    return { state: 'failed', why: whyAbsent(report.page?.timeline) ?? 'the report holds no rows' };
  }
  try {
    return { state: 'ready', rows: await loadRows(text, timeline) };
  } catch (error) {
    return { state: 'failed', why: error instanceof Error ? error.message : String(error) };
  }
}

export function openRowsAfterPaint(report: Report): void {
  requestAnimationFrame(() => setTimeout(() => void open(report).then(settle), 0));
}

export function useRows(): Loaded {
  const [loaded, setLoaded] = useState(now);
  useEffect(() => {
    watchers.add(setLoaded);
    setLoaded(now);
    return () => void watchers.delete(setLoaded);
  }, []);
  return loaded;
}
