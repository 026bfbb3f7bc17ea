// SPDX-License-Identifier: Apache-2.0
// The state of the page and the URL, kept the same. Going to another tab or from a finding to its
// place is a step that the browser's Back undoes; all else replaces the link in place.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { PageState, TableState } from '../model/state.js';
import { PLAIN_TABLE, formatState, parseState } from '../model/state.js';

const QUIET_MS = 150;

export interface Store {
  state: PageState;
  patch: (change: Partial<PageState>) => void;
  patchTable: (table: string, change: Partial<TableState>) => void;
}

function writeUrl(state: PageState, step: boolean) {
  const hash = formatState(state);
  if (hash === location.hash) return;
  const url = hash === '' ? location.pathname + location.search : hash;
  try {
    if (step) history.pushState(null, '', url);
    else history.replaceState(null, '', url);
  } catch {
    // Browsers stop a page that changes its link too often; the next change writes it.
  }
}

export function useStore(): Store {
  const [state, setState] = useState<PageState>(() => parseState(location.hash));
  const now = useRef(state);
  const timer = useRef(0);

  const patch = useCallback((change: Partial<PageState>) => {
    const before = now.current;
    const after = { ...before, ...change };
    now.current = after;
    setState(after);
    window.clearTimeout(timer.current);
    if (before.tab !== after.tab || before.finding !== after.finding) {
      writeUrl(before, false);
      writeUrl(after, true);
    } else {
      timer.current = window.setTimeout(() => writeUrl(now.current, false), QUIET_MS);
    }
  }, []);

  const patchTable = useCallback(
    (table: string, change: Partial<TableState>) => {
      const tables = now.current.tables;
      patch({ tables: { ...tables, [table]: { ...(tables[table] ?? PLAIN_TABLE), ...change } } });
    },
    [patch],
  );

  useEffect(() => {
    const follow = () => {
      now.current = parseState(location.hash);
      setState(now.current);
    };
    window.addEventListener('popstate', follow);
    window.addEventListener('hashchange', follow);
    return () => {
      window.removeEventListener('popstate', follow);
      window.removeEventListener('hashchange', follow);
    };
  }, []);

  return { state, patch, patchTable };
}
