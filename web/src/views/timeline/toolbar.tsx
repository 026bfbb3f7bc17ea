// SPDX-License-Identifier: Apache-2.0
// Above the canvas: search, zoom, lanes, and the way back to a finding.
import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Place } from '../../model/page.js';
import { laneTitle } from './draw_lanes.js';
import type { Engine } from './engine.js';
import { laneOrder } from './layout.js';
import { rankOf } from './search.js';
import { countText } from './time_text.js';

interface ToolbarProps {
  engine: Engine;
  search: string;
  onSearch: (query: string) => void;
  searchBox: RefObject<HTMLInputElement | null>;
}

export function Toolbar({ engine, search, onSearch, searchBox }: ToolbarProps) {
  const keys = (event: KeyboardEvent) => {
    if (event.key === 'Enter') engine.step(event.shiftKey);
    else if (event.key === 'Escape') {
      if (search === '') engine.canvas.focus();
      else onSearch('');
    } else return;
    event.preventDefault();
  };
  const middle = () => engine.left + (engine.canvas.clientWidth - engine.left) / 2;
  return (
    <div class="tl-tools noprint">
      <input
        ref={searchBox}
        type="search"
        data-find
        spellcheck={false}
        placeholder="search names, /regex/   ( / )"
        aria-label="search names; between slashes a regular expression"
        value={search}
        onInput={(event) => onSearch(event.currentTarget.value)}
        onKeyDown={keys}
      />
      <MatchCount engine={engine} />
      <span class="tl-space" />
      <span class="tl-hint">ctrl-wheel or w s zoom · drag or a d move · shift-drag sums</span>
      <button
        type="button"
        aria-label="zoom out"
        title="zoom out (s)"
        onClick={() => engine.zoom(2, middle())}
      >
        −
      </button>
      <button
        type="button"
        aria-label="zoom in"
        title="zoom in (w)"
        onClick={() => engine.zoom(0.5, middle())}
      >
        +
      </button>
      <button
        type="button"
        title="the whole recording (0)"
        onClick={() => engine.setWindow({ start: 0, end: engine.model.spanNs })}
      >
        whole
      </button>
      <LanesMenu engine={engine} />
    </div>
  );
}

function MatchCount({ engine }: { engine: Engine }) {
  const { matches, selection, model } = engine;
  if (!matches) return <span class="tl-count" aria-live="polite" />;
  const rank = selection?.type === 'row' ? rankOf(model, matches, selection.row) : 0;
  const words = matches.error
    ? matches.error
    : matches.count === 0
      ? 'no match'
      : `${rank > 0 ? `${countText(rank)} of ` : ''}${countText(matches.count)} ${matches.count === 1 ? 'match' : 'matches'}`;
  return (
    <>
      <span class="tl-count" aria-live="polite">
        {words}
      </span>
      <button
        type="button"
        aria-label="previous match"
        title="previous match (N)"
        disabled={matches.count === 0}
        onClick={() => engine.step(true)}
      >
        ‹
      </button>
      <button
        type="button"
        aria-label="next match"
        title="next match (n)"
        disabled={matches.count === 0}
        onClick={() => engine.step(false)}
      >
        ›
      </button>
    </>
  );
}

function LanesMenu({ engine }: { engine: Engine }) {
  const { model, hidden, closed } = engine;
  const lanes = laneOrder(model);
  const toggled = (set: Set<number>, lane: number) => {
    const next = new Set(set);
    if (!next.delete(lane)) next.add(lane);
    return next;
  };
  const shown = engine.layout.boxes.length;
  return (
    <details class="tl-lanes">
      <summary>
        {shown === lanes.length ? `${lanes.length} lanes` : `${shown} of ${lanes.length} lanes`}
      </summary>
      <div>
        <input
          type="search"
          placeholder="only lanes named"
          aria-label="show only lanes whose name holds these words"
          value={engine.laneFilter}
          onInput={(event) => engine.setLanes({ filter: event.currentTarget.value })}
        />
        <p class="tl-actions">
          <button type="button" onClick={() => engine.setLanes({ closed: new Set() })}>
            open all
          </button>
          <button type="button" onClick={() => engine.setLanes({ closed: new Set(lanes) })}>
            close all
          </button>
          <button type="button" onClick={() => engine.setLanes({ hidden: new Set(), filter: '' })}>
            show all
          </button>
        </p>
        <ul>
          {lanes.map((lane) => (
            <li key={lane}>
              <label>
                <input
                  type="checkbox"
                  checked={!hidden.has(lane)}
                  onChange={() => engine.setLanes({ hidden: toggled(hidden, lane) })}
                />
                {laneTitle(model.lanes[lane]!)}
                <span class="tl-quiet"> {model.lanes[lane]!.process}</span>
              </label>
              <button
                type="button"
                aria-pressed={!closed.has(lane)}
                onClick={() => engine.setLanes({ closed: toggled(closed, lane) })}
              >
                {closed.has(lane) ? 'closed' : 'open'}
              </button>
            </li>
          ))}
        </ul>
      </div>
    </details>
  );
}

interface PlacesProps {
  places: Place[];
  onShow: (place: Place) => void;
  onBack: (() => void) | null;
}

/** Where a finding is to be seen, one place after the other, and the way back. */
export function PlacesBar({ places, onShow, onBack }: PlacesProps) {
  const [at, setAt] = useState(0);
  useEffect(() => setAt(0), [places]);
  const place = places[Math.min(at, places.length - 1)];
  if (!place && !onBack) return null;
  const go = (by: number) => {
    const next = (at + by + places.length) % places.length;
    setAt(next);
    onShow(places[next]!);
  };
  return (
    <div class="tl-places">
      {onBack && (
        <button type="button" onClick={onBack}>
          ‹ back to the finding
        </button>
      )}
      {place && (
        <button type="button" class="tl-row" onClick={() => onShow(place)}>
          {place.text}
        </button>
      )}
      {places.length > 1 && (
        <>
          <span class="tl-quiet">
            place {at + 1} of {places.length}
          </span>
          <button type="button" aria-label="previous place" onClick={() => go(-1)}>
            ‹
          </button>
          <button type="button" aria-label="next place" onClick={() => go(1)}>
            ›
          </button>
        </>
      )}
    </div>
  );
}
