// SPDX-License-Identifier: Apache-2.0
// What the shell gives to the timeline and the flame chart, and what it expects of them.
//
//   src/model/rows.ts       export interface Rows
//                           export function loadRows(text: string, timeline: PageTimeline): Promise<Rows>
//                           (text: base64 of gzip; called once, after the first paint)
//   src/views/timeline.tsx  export function Timeline(props: TimelineProps)
//   src/views/flame.tsx     export function Flame(props: FlameProps)
//
// The shell keeps the state and the URL: a view never touches location or history. `patch` may be
// called on every frame of a drag; the shell writes the URL once it has been quiet for 150 ms.
// Both fill the box they are given (position: relative, height given by the shell, width from the
// window) and watch their own size. Colours: the CSS variables of src/style/theme.css, read again
// when `theme` changes (built, a colour may be `#fff`: the minifier shortens). Keys are listened to on an element of the view, or on window while the view
// is mounted and the target is no input; `?` belongs to the shell, which lists `KEYS` of each view.
import type { FlameKind, Page, PageTimeline, Place, Tree } from '../model/page.js';
import type { PageState } from '../model/state.js';
import type { Report } from '../model/report.js';
import type { Rows } from '../model/rows.js';

export type Theme = 'light' | 'dark';

/** Listed by `?`: each view exports one, `export const KEYS: KeyHelp[] = …`, from its own file. */
export interface KeyHelp {
  keys: string;
  what: string;
}

export interface ViewProps {
  report: Report;
  page: Page;
  state: PageState;
  patch: (change: Partial<PageState>) => void;
  theme: Theme;
}

export interface TimelineProps extends ViewProps {
  timeline: PageTimeline;
  rows: Rows;
  /** Places of the finding one came from (state.finding); the first is to be brought into view when
   *  state.window is null. Empty without a finding. */
  places: Place[];
  /** Back to the finding; null when one did not come from one. Shown by the view as a button. */
  onBack: (() => void) | null;
}

export interface FlameProps extends ViewProps {
  strings: string[];
  kind: FlameKind;
  tree: Tree;
}
