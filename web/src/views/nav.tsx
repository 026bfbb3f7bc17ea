// SPDX-License-Identifier: Apache-2.0
import { isAbsent, known } from '../model/report.js';
import type { Report } from '../model/report.js';
import type { Tab } from '../model/state.js';
import { formatState } from '../model/state.js';
import { usePage } from '../widgets/context.js';
import { count } from '../model/format.js';

export interface TabInfo {
  tab: Tab;
  name: string;
  /** Beside the name: how much is there. */
  note: string;
  /** Not in this trace: the tab says why. */
  absent: boolean;
}

const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);

export function tabsOf(report: Report): TabInfo[] {
  const page = report.page;
  const lists = (tab: Tab, name: string, value: unknown): TabInfo => {
    const length = lengthOf(value);
    return { tab, name, note: length ? count(length) : '', absent: length === 0 };
  };
  const section = (tab: Tab, name: string, value: unknown): TabInfo => ({
    tab,
    name,
    note: '',
    absent: value === undefined || value === null || isAbsent(value),
  });
  const flame = known(page?.flame);
  const noFlame = !flame || Object.values(flame).every((tree) => isAbsent(tree));
  return [
    { tab: 'overview', name: 'Overview', note: '', absent: false },
    section('timeline', 'Timeline', page?.timeline),
    { tab: 'flame', name: 'Flame', note: '', absent: noFlame },
    lists('ops', 'Operators', known(report.ops)),
    lists('kernels', 'Kernels', known(report.kernels)),
    section('memory', 'Memory', report.memory),
    lists('steps', 'Steps, idle', known(report.steps)?.list),
    section('efficiency', 'Efficiency', report.efficiency),
    lists('transfers', 'Copies, waits', [
      ...(known(report.transfers) ?? []),
      ...(known(report.syncs) ?? []),
    ]),
    section('comm', 'Communication', known(report.ranks) ?? report.comm),
    section('loader', 'Data loading', report.loader),
    section('python', 'Python', report.python),
    lists('counters', 'Machine', known(page?.counters)),
  ];
}

interface Props {
  tabs: TabInfo[];
  now: Tab;
  onGo: (tab: Tab) => void;
}

/** Links, so that a tab can be opened beside this one or its address copied. */
export function Nav({ tabs, now, onGo }: Props) {
  const { state } = usePage();
  const follow = (event: MouseEvent, tab: Tab) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    onGo(tab);
  };
  return (
    <nav aria-label="views" class="noprint">
      {tabs.map((info) => (
        <a
          key={info.tab}
          href={formatState({ ...state, tab: info.tab }) || '#'}
          class={info.absent ? 'absent' : ''}
          {...(info.tab === now ? { 'aria-current': 'page' as const } : {})}
          {...(info.absent ? { title: 'not in this report; the view says why' } : {})}
          onClick={(event) => follow(event, info.tab)}
        >
          <span>{info.name}</span>
          <small>{info.absent ? '–' : info.note}</small>
        </a>
      ))}
    </nav>
  );
}
