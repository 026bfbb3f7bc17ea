// SPDX-License-Identifier: Apache-2.0
// The page around the views: title, tabs, keys.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ComponentType } from 'preact';
import type { Report } from '../model/report.js';
import type { PageState, Tab } from '../model/state.js';
import { TABS } from '../model/state.js';
import { Context } from '../widgets/context.js';
import { useStore } from '../widgets/store.js';
import { useTheme } from '../widgets/theme.js';
import { Comm } from './comm.js';
import { Counters } from './counters.js';
import { Efficiency } from './efficiency.js';
import { KeysDialog } from './keys.js';
import { Loader } from './loader.js';
import { Memory } from './memory.js';
import { Nav, tabsOf } from './nav.js';
import { Overview } from './overview.js';
import { FlameTab, TimelineTab } from './rows_tabs.js';
import { Steps } from './steps.js';
import { Kernels, Ops, PythonTables, Transfers } from './tables.js';
import { TitleBar } from './title.js';

const VIEWS: Record<Tab, ComponentType> = {
  overview: Overview,
  timeline: TimelineTab,
  flame: FlameTab,
  ops: Ops,
  kernels: Kernels,
  python: PythonTables,
  memory: Memory,
  steps: Steps,
  efficiency: Efficiency,
  transfers: Transfers,
  comm: Comm,
  loader: Loader,
  counters: Counters,
};

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, select, textarea');
}

function useKeys(state: PageState, go: (tab: Tab) => void, setHelp: (on: boolean) => void) {
  const latest = useRef(state);
  latest.current = state;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const at = TABS.indexOf(latest.current.tab);
      if (event.key === '?') setHelp(true);
      else if (event.key === '[') go(TABS[Math.max(0, at - 1)] ?? 'overview');
      else if (event.key === ']') go(TABS[Math.min(TABS.length - 1, at + 1)] ?? 'overview');
      else if (event.key === '/') {
        const input = document.querySelector<HTMLInputElement>('[data-find]');
        if (!input) return;
        input.focus();
        input.select();
      } else return;
      event.preventDefault();
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, []);
}

export function App({ report }: { report: Report }) {
  const store = useStore();
  const [theme, toggleTheme] = useTheme();
  const [help, setHelp] = useState(false);
  const { state, patch } = store;
  const go = (tab: Tab) => {
    patch({ tab });
    window.scrollTo(0, 0);
  };
  useKeys(state, go, setHelp);
  const View = VIEWS[state.tab];
  return (
    <Context.Provider value={{ ...store, report, theme }}>
      <a class="skip" href="#main" onClick={(event) => focusMain(event)}>
        skip to the content
      </a>
      <TitleBar theme={theme} onTheme={toggleTheme} onHelp={() => setHelp(true)} />
      <div class="body">
        <Nav tabs={tabsOf(report)} now={state.tab} onGo={go} />
        <main id="main" tabIndex={-1} class={`tab-${state.tab}`}>
          <View />
        </main>
      </div>
      {help && <KeysDialog onClose={() => setHelp(false)} />}
    </Context.Provider>
  );
}

/** The hash is the state of the page, so the link to the content must not become it. */
function focusMain(event: Event) {
  event.preventDefault();
  document.getElementById('main')?.focus();
}
