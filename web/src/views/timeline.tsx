// SPDX-License-Identifier: Apache-2.0
// Timeline of threads and streams. The engine (timeline/engine.ts) holds what is in view and draws;
// this builds what stands around the canvas and keeps the page's state and the engine in step.
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';
import { known } from '../model/report.js';
import type { Place } from '../model/page.js';
import type { KeyHelp, TimelineProps } from './contract.js';
import { Details } from './timeline/details.js';
import { Engine, type Change } from './timeline/engine.js';
import type { Hit } from './timeline/hit.js';
import { listen, listenMap, type Pointing } from './timeline/input.js';
import { listenKeys, TIMELINE_KEYS } from './timeline/keys.js';
import { buildModel } from './timeline/lanes.js';
import { Legend } from './timeline/legend.js';
import { SumsView } from './timeline/sums_view.js';
import { countText } from './timeline/time_text.js';
import { PlacesBar, Toolbar } from './timeline/toolbar.js';
import { describe, Tooltip } from './timeline/tooltip.js';
import { windowAround, type TimeWindow } from './timeline/window.js';
import './timeline/timeline.css';

export const KEYS: KeyHelp[] = TIMELINE_KEYS;

/** The table beside the canvas and the URL follow a window that has been still this long. */
const STILL_MS = 150;

export function Timeline(props: TimelineProps) {
  const { page, timeline, rows, theme, places, onBack, state } = props;
  const model = useMemo(
    () => buildModel(timeline, rows, known(page.steps) ?? [], page.span_ns),
    [timeline, rows, page],
  );
  const root = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const map = useRef<HTMLCanvasElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const tall = useRef<HTMLDivElement>(null);
  const tooltip = useRef<HTMLDivElement>(null);
  const searchBox = useRef<HTMLInputElement>(null);
  const [engine, setEngine] = useState<Engine | null>(null);
  const [lanesVersion, nextLanes] = useReducer((n: number) => n + 1, 0);
  const [, rebuild] = useReducer((n: number) => n + 1, 0);
  const [still, setStill] = useState<TimeWindow>({ start: 0, end: model.spanNs });
  const latest = useRef(props);
  latest.current = props;
  /** Windows this view gave to the page: they come back and must not undo what came after. */
  const own = useRef(new WeakSet<object>());

  useLayoutEffect(() => {
    if (!canvas.current || !map.current || !scroller.current || !tall.current) return;
    const made = new Engine(model, canvas.current, map.current, scroller.current, tall.current);
    const pointing: Pointing = { x: null };
    const tip = new Tooltip(tooltip.current, made);
    let timer = 0;
    const settle = () => {
      const { start, end } = made.window;
      const whole = start <= 0 && end >= model.spanNs;
      const window: [number, number] = [Math.max(0, start), Math.min(end, model.spanNs)];
      own.current.add(window);
      setStill(made.window);
      latest.current.patch({ window: whole ? null : window });
    };
    made.listener = (change: Change) => {
      if (change === 'window') {
        clearTimeout(timer);
        timer = window.setTimeout(settle, STILL_MS);
        return;
      }
      if (change === 'lanes') nextLanes(undefined);
      if (change === 'pick') {
        latest.current.patch({ row: made.selection?.type === 'row' ? made.selection.row : null });
      }
      rebuild(undefined);
    };
    const ends = [
      listen(made, scroller.current, pointing, {
        point: (hit: Hit | null, x: number, y: number) => tip.show(hit, x, y),
      }),
      listenMap(made, map.current),
      listenKeys(made, pointing, {
        focusSearch: () => searchBox.current?.select(),
        clearSearch: () => latest.current.patch({ search: '' }),
      }),
    ];
    const watcher = new ResizeObserver(() => made.resize());
    watcher.observe(scroller.current);
    watcher.observe(map.current);
    setEngine(made);
    return () => {
      clearTimeout(timer);
      watcher.disconnect();
      for (const end of ends) end();
      made.destroy();
    };
  }, [model]);

  useLayoutEffect(() => engine?.resize(), [engine, theme]);
  useEffect(() => engine?.search(state.search), [engine, state.search]);

  // What came from outside: a link, the browser's back, a jump from a finding.
  useLayoutEffect(() => {
    if (!engine || (state.window && own.current.has(state.window))) return;
    if (state.window) {
      engine.setWindow({ start: state.window[0], end: state.window[1] }, false);
      setStill(engine.window);
    } else if (places[0]) {
      showPlace(engine, places[0]);
    }
  }, [engine, state.window, state.finding]);
  useLayoutEffect(() => {
    if (!engine) return;
    const row = engine.selection?.type === 'row' ? engine.selection.row : null;
    if (state.row === row || (state.row !== null && state.row >= rows.count)) return;
    if (state.row === null && engine.selection?.type === 'gap') return;
    engine.select(
      state.row === null ? null : { type: 'row', row: state.row },
      state.window === null,
      false,
    );
    rebuild(undefined);
  }, [engine, state.row]);
  useLayoutEffect(() => {
    if (!engine) return;
    engine.places = places.map((place) => ({ start: place.start_ns, end: place.end_ns }));
    engine.requestDraw();
  }, [engine, page, state.finding]);

  const pick = (row: number) => engine?.select({ type: 'row', row }, true);
  const find = (search: string) => props.patch({ search });
  return (
    <div class="tl" ref={root}>
      {engine && (
        <Toolbar engine={engine} search={state.search} onSearch={find} searchBox={searchBox} />
      )}
      {engine && (places.length > 0 || onBack) && (
        <PlacesBar places={places} onShow={(place) => showPlace(engine, place)} onBack={onBack} />
      )}
      <canvas class="tl-map" ref={map} aria-hidden="true" />
      {engine && <Legend engine={engine} theme={theme} />}
      <div class="tl-main">
        <div class="tl-scroll" ref={scroller}>
          <div ref={tall}>
            <canvas
              ref={canvas}
              tabIndex={0}
              role="application"
              aria-roledescription="timeline"
              aria-label={`Timeline of ${countText(rows.count)} rows in ${model.lanes.length} lanes. Arrow keys walk from row to row, w and s zoom, a and d move; the table after it sums up what is in view.`}
              aria-describedby="tl-picked"
            />
          </div>
        </div>
        <div class="tl-tip" ref={tooltip} role="tooltip" />
        <div class="tl-panel">
          <p id="tl-picked" class="tl-unseen" aria-live="polite">
            {engine?.selection ? describe(engine, engine.selection).join(', ') : 'nothing selected'}
          </p>
          {engine && <Details engine={engine} onPick={pick} />}
          {engine && (
            <SumsView
              engine={engine}
              window={still}
              lanesVersion={lanesVersion}
              onPick={pick}
              onSearch={find}
            />
          )}
        </div>
      </div>
    </div>
  );
}

function showPlace(engine: Engine, place: Place): void {
  engine.setWindow(windowAround(place.start_ns, place.end_ns, engine.model.spanNs));
  if (place.lane !== null) engine.showLane(place.lane);
}
