// SPDX-License-Identifier: Apache-2.0
// Call trees as an icicle: callers above, callees below, widths by time on the host or the device.
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';
import type { FlameKind } from '../model/page.js';
import type { FlameProps, KeyHelp } from './contract.js';
import { FlameEngine } from './flame/engine.js';
import { FLAME_KEYS, listenFlame } from './flame/input.js';
import { findNodes, layOut, pathOf, weightsOf, type Weight } from './flame/tree.js';
import { describeNode, NodeDetails, SelfTable } from './flame/words.js';
import { compileQuery } from './timeline/search.js';
import { countText, labelOf, percentText } from './timeline/time_text.js';
import { writeTip } from './timeline/tooltip.js';
import './timeline/timeline.css';
import './flame/flame.css';

export const KEYS: KeyHelp[] = FLAME_KEYS;

/** Kind of row (model/rows.ts) whose colour the tree has. */
const COLOR: Record<FlameKind, number> = { op: 0, module: 0, python: 3 };

export function Flame(props: FlameProps) {
  const { tree, strings, kind, state, patch, theme } = props;
  const [weight, setWeight] = useState<Weight>('host');
  const used: Weight = weight === 'device' && tree.device ? 'device' : 'host';
  const icicle = useMemo(() => layOut(tree, used), [tree, used]);
  const canvas = useRef<HTMLCanvasElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const tall = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const [engine, setEngine] = useState<FlameEngine | null>(null);
  const [, rebuild] = useReducer((n: number) => n + 1, 0);
  const latest = useRef(props);
  latest.current = props;

  useLayoutEffect(() => {
    if (!canvas.current || !scroller.current || !tall.current) return;
    const made = new FlameEngine(
      icicle,
      strings,
      COLOR[kind],
      canvas.current,
      scroller.current,
      tall.current,
    );
    made.listener = () => {
      // 0 is everything: a tree may have several roots, so node i is written i + 1.
      if (latest.current.state.node !== made.focus + 1)
        latest.current.patch({ node: made.focus + 1 });
      rebuild(undefined);
    };
    const end = listenFlame(made, scroller.current, {
      point: (node, x, y) => {
        const lines =
          node < 0
            ? []
            : [
                strings[made.icicle.tree.name[node]!]!,
                ...describeNode(made.icicle, strings, node).map(
                  ([name, value]) => `${name} ${value}`,
                ),
              ];
        if (tip.current) writeTip(tip.current, lines, made.canvas, x, y);
      },
      switchWeight: () => setWeight((now) => (now === 'host' ? 'device' : 'host')),
    });
    const watcher = new ResizeObserver(() => made.resize());
    watcher.observe(scroller.current);
    setEngine(made);
    return () => {
      watcher.disconnect();
      end();
      made.destroy();
    };
  }, [tree, strings, kind]);

  useLayoutEffect(() => engine?.setIcicle(icicle), [engine, icicle]);
  useLayoutEffect(() => engine?.resize(), [engine, theme]);
  useLayoutEffect(() => {
    const node = state.node - 1;
    if (engine && node !== engine.focus && node < tree.parent.length) engine.zoomTo(node);
  }, [engine, state.node]);
  useEffect(() => {
    if (!engine) return;
    const test = state.search === '' ? null : compileQuery(state.search);
    if (test === null) engine.setFound(null);
    else if (typeof test === 'function') {
      engine.setFound(findNodes(icicle, (name) => test(strings[name]!)));
    } else {
      engine.setFound({
        error: test.error,
        match: new Uint8Array(tree.parent.length),
        nodes: [],
        weight: 0,
      });
    }
  }, [engine, icicle, state.search]);

  return (
    <div class="tl fl">
      <div class="tl-tools noprint">
        <input
          type="search"
          data-find
          spellcheck={false}
          placeholder="search names, /regex/   ( / )"
          aria-label="search names; between slashes a regular expression"
          value={state.search}
          onInput={(event) => patch({ search: event.currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key === 'Enter') engine?.step(event.shiftKey);
            else if (event.key === 'Escape') patch({ search: '' });
          }}
        />
        {engine && <FoundWords engine={engine} />}
        <span class="tl-space" />
        <WeightSwitch props={props} weight={used} onWeight={setWeight} />
      </div>
      {engine && <Path engine={engine} tree={tree} />}
      <Notes props={props} weight={used} whole={icicle.whole} />
      <div class="tl-main">
        <div class="tl-scroll" ref={scroller}>
          <div ref={tall}>
            <canvas
              ref={canvas}
              tabIndex={0}
              role="application"
              aria-roledescription="flame chart"
              aria-label={`Call tree of ${countText(tree.parent.length)} nodes. Arrow keys walk, Enter zooms in, Escape out; the table after it lists self time by name.`}
            />
          </div>
        </div>
        <div class="tl-tip" ref={tip} role="tooltip" />
        <div class="tl-panel">
          {engine && <NodeDetails engine={engine} icicle={icicle} />}
          {engine && <SelfTable engine={engine} icicle={icicle} focus={engine.focus} />}
        </div>
      </div>
    </div>
  );
}

function FoundWords({ engine }: { engine: FlameEngine }) {
  const { found, icicle } = engine;
  if (!found) return null;
  const share = icicle.whole > 0 ? found.weight / icicle.whole : 0;
  const words = found.error
    ? found.error
    : found.nodes.length === 0
      ? 'no match'
      : `${countText(found.nodes.length)} ${found.nodes.length === 1 ? 'match' : 'matches'}, ${percentText(share)} of the time`;
  return (
    <span class="tl-count" aria-live="polite">
      {words}
    </span>
  );
}

interface WeightProps {
  props: FlameProps;
  weight: Weight;
  onWeight: (weight: Weight) => void;
}

function WeightSwitch({ props, weight, onWeight }: WeightProps) {
  if (weightsOf(props.tree).length < 2) return null;
  return (
    <div role="group" aria-label="widths by" class="tl-switch">
      {weightsOf(props.tree).map((one) => (
        <button key={one} type="button" aria-pressed={weight === one} onClick={() => onWeight(one)}>
          {one} time
        </button>
      ))}
    </div>
  );
}

/** What the widths mean, and what is not in them. */
function Notes({ props, weight, whole }: { props: FlameProps; weight: Weight; whole: number }) {
  const { tree } = props;
  const left = (tree as { left_out?: number }).left_out ?? 0;
  const notes = [
    tree.sampled ? 'sampled: widths are estimates, short calls may be missing' : '',
    !tree.device ? 'device time is not known for this tree' : '',
    whole === 0 ? `no ${weight} time in this tree` : '',
    left > 0 ? `the ${countText(left)} smallest nodes are left out` : '',
  ].filter(Boolean);
  return notes.length > 0 ? <p class="fl-notes">{notes.join(' · ')}</p> : null;
}

function Path({ engine, tree }: { engine: FlameEngine; tree: FlameProps['tree'] }) {
  const path = pathOf(tree, engine.focus);
  return (
    <nav class="fl-path" aria-label="zoomed into">
      <button type="button" class="tl-row" onClick={() => engine.zoomTo(-1)}>
        all
      </button>
      {path.map((node) => (
        <span key={node}>
          <span aria-hidden="true">› </span>
          <button
            type="button"
            class="tl-row"
            title={engine.strings[tree.name[node]!]}
            {...(node === engine.focus ? { 'aria-current': 'true' as const } : {})}
            onClick={() => engine.zoomTo(node)}
          >
            {labelOf(engine.strings[tree.name[node]!]!)}
          </button>
        </span>
      ))}
    </nav>
  );
}
