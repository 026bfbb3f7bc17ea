// SPDX-License-Identifier: Apache-2.0
// Columns of the timeline (stand-in until the real decoder is there).
import type { PageTimeline } from './page.js';

export interface Rows {
  count: number;
}

export function loadRows(_text: string, timeline: PageTimeline): Promise<Rows> {
  return Promise.resolve({ count: timeline.columns['start']?.count ?? 0 });
}
