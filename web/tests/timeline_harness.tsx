// SPDX-License-Identifier: Apache-2.0
// Timeline or flame chart alone on a page, with data fetched from the test's server: for tests of the
// views and for measuring them (timeline_speed.mjs).
// ?rows=N a made-up job, ?page=NAME the page of that name in $HONE_PAGES; &flame=op, &theme=dark, &finding=0.
import { render } from 'preact';
import { useState } from 'preact/hooks';
import '../src/style/theme.css';
import type { FlameKind, Page, Tree } from '../src/model/page.js';
import { known } from '../src/model/report.js';
import { loadRows, type Rows } from '../src/model/rows.js';
import { START, type PageState } from '../src/model/state.js';
import type { Report } from '../src/model/report.js';
import { Flame } from '../src/views/flame.js';
import { Timeline } from '../src/views/timeline.js';

const query = new URLSearchParams(location.search);
const { page, text } = (await (await fetch(`/sample?${query}`)).json()) as {
  page: Page;
  text: string;
};
const timeline = known(page.timeline);
if (!timeline) throw new Error('a sample has a timeline');
const begun = performance.now();
const rows: Rows = await loadRows(text, timeline);
console.log(`rows opened in ${(performance.now() - begun).toFixed(0)} ms`);
const theme = query.get('theme') === 'dark' ? 'dark' : 'light';
document.documentElement.dataset['theme'] = theme;

const NO_PLACES: never[] = [];

function Harness() {
  const [state, setState] = useState<PageState>({
    ...START,
    finding: query.has('finding') ? Number(query.get('finding')) : null,
  });
  const patch = (change: Partial<PageState>) => setState((old) => ({ ...old, ...change }));
  Object.assign(window, { honeState: state, honePatch: patch });
  const shared = { report: {} as Report, page, state, patch, theme } as const;
  const flame = known(page.flame);
  const kind = query.get('flame') as FlameKind | null;
  if (kind && flame && timeline) {
    const tree = flame[kind] as Tree;
    return <Flame {...shared} strings={timeline.strings} kind={kind} tree={tree} />;
  }
  if (!timeline) return null;
  const places = state.finding === null ? NO_PLACES : (page.places[state.finding] ?? NO_PLACES);
  const back = state.finding === null ? null : () => patch({ finding: null });
  return <Timeline {...shared} timeline={timeline} rows={rows} places={places} onBack={back} />;
}

const app = document.getElementById('app');
if (app) render(<Harness />, app);
