// SPDX-License-Identifier: Apache-2.0
// The timeline and the flame chart in the page: what they need is fetched here, and where it is
// missing, why.
import type { FlameKind } from '../model/page.js';
import { known, whyAbsent } from '../model/report.js';
import { usePage } from '../widgets/context.js';
import { Missing, Section } from '../widgets/parts.js';
import { useRows } from '../widgets/rows_loader.js';
import { Flame } from './flame.js';
import { Timeline } from './timeline.js';

export function TimelineTab() {
  const { report, state, patch, theme } = usePage();
  const loaded = useRows();
  const page = report.page;
  const timeline = known(page?.timeline);
  if (!page || !timeline || loaded.state === 'failed') {
    const why =
      loaded.state === 'failed'
        ? loaded.why
        : (whyAbsent(page?.timeline) ?? 'the report holds no rows');
    return (
      <Section title="Timeline">
        <Missing what="Timeline" why={why} />
      </Section>
    );
  }
  const places = state.finding === null ? [] : (page.places[state.finding] ?? []);
  const back = state.finding === null ? null : () => patch({ tab: 'overview' });
  return (
    <>
      {timeline.left_out && (
        <p class="sub left-out">
          {timeline.left_out.events.toLocaleString('en-US')} events are not in this timeline:{' '}
          {timeline.left_out.why}
        </p>
      )}
      <div class="full-view">
        {loaded.state === 'ready' ? (
          <Timeline
            report={report}
            page={page}
            state={state}
            patch={patch}
            theme={theme}
            timeline={timeline}
            rows={loaded.rows}
            places={places}
            onBack={back}
          />
        ) : (
          <p class="missing">opening the rows…</p>
        )}
      </div>
    </>
  );
}

const KINDS: { kind: FlameKind; name: string }[] = [
  { kind: 'op', name: 'operators' },
  { kind: 'module', name: 'modules' },
  { kind: 'python', name: 'Python' },
];

export function FlameTab() {
  const { report, state, patch, theme } = usePage();
  const page = report.page;
  const flame = known(page?.flame);
  const timeline = known(page?.timeline);
  if (!page || !flame || !timeline) {
    return (
      <Section title="Flame">
        <Missing what="Call trees" why={whyAbsent(page?.flame) ?? 'the report holds none'} />
      </Section>
    );
  }
  const tree = known(flame[state.flame]);
  return (
    <>
      <div class="choices" role="group" aria-label="tree">
        {KINDS.map(({ kind, name }) => (
          <button
            key={kind}
            type="button"
            aria-pressed={kind === state.flame}
            class={known(flame[kind]) ? '' : 'absent'}
            onClick={() => patch({ flame: kind, node: 0 })}
          >
            {name}
          </button>
        ))}
      </div>
      {tree ? (
        <div class="full-view">
          <Flame
            report={report}
            page={page}
            state={state}
            patch={patch}
            theme={theme}
            strings={timeline.strings}
            kind={state.flame}
            tree={tree}
          />
        </div>
      ) : (
        <Missing
          what={KINDS.find(({ kind }) => kind === state.flame)?.name ?? 'tree'}
          why={whyAbsent(flame[state.flame]) ?? 'the report holds none'}
        />
      )}
    </>
  );
}
