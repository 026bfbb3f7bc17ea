// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from 'preact/hooks';

/** True while the page is laid out for paper: what is folded or scrolled in must then be there. */
export function usePrinting(): boolean {
  const [printing, setPrinting] = useState(() => window.matchMedia('print').matches);
  useEffect(() => {
    const print = window.matchMedia('print');
    const follow = () => setPrinting(print.matches);
    const before = () => setPrinting(true);
    const after = () => setPrinting(false);
    print.addEventListener('change', follow);
    window.addEventListener('beforeprint', before);
    window.addEventListener('afterprint', after);
    return () => {
      print.removeEventListener('change', follow);
      window.removeEventListener('beforeprint', before);
      window.removeEventListener('afterprint', after);
    };
  }, []);
  return printing;
}
