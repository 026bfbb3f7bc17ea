// SPDX-License-Identifier: Apache-2.0
// What every view may need, without handing it through all that stand between.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Report } from '../model/report.js';
import type { Theme } from '../views/contract.js';
import type { Store } from './store.js';

export interface PageContext extends Store {
  report: Report;
  theme: Theme;
}

export const Context = createContext<PageContext | null>(null);

export function usePage(): PageContext {
  const context = useContext(Context);
  if (!context) throw new Error('a view was rendered outside the page');
  return context;
}
