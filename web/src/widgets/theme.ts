// SPDX-License-Identifier: Apache-2.0
// Light or dark: as the system wishes, until the reader chooses. The choice is kept where the
// browser lets a page keep anything.
import { useEffect, useState } from 'preact/hooks';
import type { Theme } from '../views/contract.js';

const KEY = 'hone-theme';

function kept(): Theme | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'light' || value === 'dark' ? value : null;
  } catch {
    return null;
  }
}

export function useTheme(): [Theme, () => void] {
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const [chosen, setChosen] = useState<Theme | null>(kept);
  const [system, setSystem] = useState<Theme>(dark.matches ? 'dark' : 'light');
  const theme = chosen ?? system;

  useEffect(() => {
    const follow = (event: MediaQueryListEvent) => setSystem(event.matches ? 'dark' : 'light');
    dark.addEventListener('change', follow);
    return () => dark.removeEventListener('change', follow);
  }, []);

  // Set while rendering, so that whoever reads colours in an effect reads the new ones.
  document.documentElement.dataset['theme'] = theme;

  const toggle = () => {
    const next: Theme = theme === 'dark' ? 'light' : 'dark';
    setChosen(next);
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // A page from disk may keep nothing: the choice holds while it is open.
    }
  };
  return [theme, toggle];
}
