// SPDX-License-Identifier: Apache-2.0
// What a link to a place in the page carries, as text after the `#`, and back.
import type { FlameKind } from './page.js';

export const TABS = [
  'overview',
  'timeline',
  'flame',
  'ops',
  'kernels',
  'memory',
  'steps',
  'efficiency',
  'transfers',
  'comm',
  'loader',
  'python',
  'counters',
] as const;
export type Tab = (typeof TABS)[number];

/** How one table is shown. */
export interface TableState {
  /** Column: "total_ms" rises, "-total_ms" falls; "" as the report has it. */
  sort: string;
  /** Words that a row must hold. */
  filter: string;
  /** Column that rows are gathered by; "" none. */
  group: string;
}
export const PLAIN_TABLE: TableState = { sort: '', filter: '', group: '' };

export interface PageState {
  tab: Tab;
  /** By the name of the table; those shown as the report has them are left out. */
  tables: Readonly<Record<string, TableState>>;
  /** Fixed what-if switches, one bit each. */
  fix: number;
  /** Timeline: what is in view, ns from begin_ns; null all. */
  window: [number, number] | null;
  /** Timeline: the selected row. */
  row: number | null;
  /** Timeline and flame: words to find. */
  search: string;
  /** Timeline: index of the finding one came from. */
  finding: number | null;
  /** Flame: which tree. */
  flame: FlameKind;
  /** Flame: the node zoomed into; 0 the root. */
  node: number;
}

export const START: PageState = {
  tab: 'overview',
  tables: {},
  fix: 0,
  window: null,
  row: null,
  search: '',
  finding: null,
  flame: 'op',
  node: 0,
};

function count(text: string | null, most: number): number | null {
  if (text === null || !/^\d{1,15}$/.test(text)) return null;
  const value = Number(text);
  return value <= most ? value : null;
}

const TABLE_KEYS = ['sort', 'filter', 'group'] as const;

/** "sort.kernels=-total_ms" and the like. */
function parseTables(words: URLSearchParams): Record<string, TableState> {
  const tables = new Map<string, TableState>();
  for (const [word, value] of words) {
    const match = /^(sort|filter|group)\.([a-z][a-z_]{0,39})$/.exec(word);
    if (!match || !value) continue;
    const [, key, table] = match as unknown as [string, (typeof TABLE_KEYS)[number], string];
    tables.set(table, { ...(tables.get(table) ?? PLAIN_TABLE), [key]: value });
  }
  return Object.fromEntries(tables);
}

/** Reads a hash; whatever does not fit is left at its start. */
export function parseState(hash: string): PageState {
  const words = new URLSearchParams(hash.replace(/^#/, ''));
  const tab = words.get('tab');
  const flame = words.get('flame');
  const window = /^(\d{1,15}(?:\.\d+)?),(\d{1,15}(?:\.\d+)?)$/.exec(words.get('t') ?? '');
  const from = Number(window?.[1]);
  const to = Number(window?.[2]);
  return {
    tab: TABS.find((name) => name === tab) ?? START.tab,
    tables: parseTables(words),
    fix: count(words.get('fix'), 127) ?? 0,
    window: window && to > from ? [from, to] : null,
    row: count(words.get('row'), 0xfffffffe),
    search: words.get('q') ?? '',
    finding: count(words.get('finding'), 999),
    flame: flame === 'module' || flame === 'python' ? flame : 'op',
    node: count(words.get('node'), 0xfffffffe) ?? 0,
  };
}

/** The hash of a state; what is as at the start is left out, so a short link says little. */
export function formatState(state: PageState): string {
  const words = new URLSearchParams();
  if (state.tab !== START.tab) words.set('tab', state.tab);
  for (const [table, shown] of Object.entries(state.tables)) {
    for (const key of TABLE_KEYS) if (shown[key]) words.set(`${key}.${table}`, shown[key]);
  }
  if (state.fix) words.set('fix', String(state.fix));
  if (state.window) words.set('t', state.window.map((ns) => Math.max(0, Math.round(ns))).join(','));
  if (state.row !== null) words.set('row', String(state.row));
  if (state.search) words.set('q', state.search);
  if (state.finding !== null) words.set('finding', String(state.finding));
  if (state.flame !== START.flame) words.set('flame', state.flame);
  if (state.node) words.set('node', String(state.node));
  const text = words.toString();
  return text === '' ? '' : `#${text.replace(/%2C/g, ',')}`;
}
