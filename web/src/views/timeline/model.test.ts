// SPDX-License-Identifier: Apache-2.0
// Lanes, hits, search, relations and sums on small jobs whose answers are known by hand.
import { describe, expect, it } from 'vitest';
import { pack, random, type LaneSpec, type RowSpec } from '../../../tests/timeline_pack.js';
import { sampleJob } from '../../../tests/timeline_sample.js';
import { loadRows } from '../../model/rows.js';
import { buildModel, gapAt, laneOfRow, positionOfRow, rowAt, stepAt, type Model } from './lanes.js';
import { closedAtFirst, hitLane, laneOrder, layoutLanes, levelY, BOX, LEVEL } from './layout.js';
import { arrowsOf, enclosing, endOfInner, relationsOf } from './relations.js';
import { compileQuery, findMatches, nextMatch, rankOf } from './search.js';
import { sumSpan } from './sums.js';

const forward: RowSpec = { start: 100, duration: 300, name: 'aten::mm', depth: 0, kind: 0 };
const launch: RowSpec = { start: 150, duration: 20, name: 'cudaLaunchKernel', depth: 1, kind: 2 };
const launch2: RowSpec = { start: 200, duration: 20, name: 'cudaLaunchKernel', depth: 1, kind: 2 };
const other: RowSpec = { start: 500, duration: 50, name: 'aten::add', depth: 0, kind: 0 };
const backward: RowSpec = {
  start: 600,
  duration: 80,
  name: 'MmBackward0',
  depth: 0,
  kind: 0,
  cause: forward,
};
const gemm: RowSpec = { start: 300, duration: 200, name: 'gemm', depth: 0, kind: 7, cause: launch };
const bias: RowSpec = { start: 500, duration: 40, name: 'bias', depth: 0, kind: 7, cause: launch2 };
const LANES: LaneSpec[] = [
  {
    kind: 'thread',
    name: 'main',
    process: 'p',
    device: null,
    rows: [forward, launch, launch2, other],
  },
  { kind: 'thread', name: 'autograd', process: 'p', device: null, rows: [backward] },
  { kind: 'stream', name: 'stream 7', process: '', device: 0, rows: [gemm, bias] },
];
const STEPS = [{ name: 'step 1', start_ns: 0, end_ns: 550, warm_up: false }];

async function smallModel(): Promise<Model> {
  const { timeline, text } = pack(LANES, [{ start: 540, duration: 100, cause: 0, blamed: other }]);
  return buildModel(timeline, await loadRows(text, timeline), STEPS, 700);
}

describe('lanes', () => {
  it('knows the lane and place of every row', async () => {
    const { timeline, text } = sampleJob(2000);
    const rows = await loadRows(text, timeline);
    const model = buildModel(timeline, rows, [], 1);
    timeline.lanes.forEach((lane, index) => {
      for (let row = lane.first; row < lane.last; ++row) {
        expect(laneOfRow(model, row)).toBe(index);
        expect(model.set.row[positionOfRow(model, row)]).toBe(row);
      }
    });
    expect(laneOfRow(model, rows.count)).toBe(-1);
  });

  it('finds the row under a point, and the nearest within the slack', async () => {
    const model = await smallModel();
    expect(rowAt(model, 0, 0, 399, 0)).toBe(0);
    expect(rowAt(model, 0, 0, 400, 0)).toBe(-1);
    expect(rowAt(model, 0, 0, 405, 10)).toBe(0);
    expect(rowAt(model, 0, 0, 495, 10)).toBe(3);
    expect(rowAt(model, 0, 1, 160, 0)).toBe(1);
    expect(rowAt(model, 0, 7, 160, 0)).toBe(-1);
    expect(gapAt(model, 600, 0)).toBe(0);
    expect(gapAt(model, 700, 0)).toBe(-1);
    expect(stepAt(model.steps, 549)).toBe(0);
    expect(stepAt(model.steps, 550)).toBe(-1);
  });
});

describe('layout', () => {
  it('puts the device with the gaps first and hits what it draws', async () => {
    const model = await smallModel();
    expect(laneOrder(model)).toEqual([2, 0, 1]);
    const layout = layoutLanes(model, new Set(), () => true, false);
    for (const box of layout.boxes) {
      for (let level = 0; level < box.levels; ++level) {
        const y = levelY(box, level);
        expect(hitLane(layout, y)).toMatchObject({ box, level });
        expect(hitLane(layout, y + BOX - 0.5)).toMatchObject({ box, level });
      }
    }
    expect(hitLane(layout, layout.height)).toBeNull();
    expect(hitLane(layout, -1)).toBeNull();
  });

  it('a closed lane has one level, a hidden one none', async () => {
    const model = await smallModel();
    const open = layoutLanes(model, new Set(), () => true, false);
    const closed = layoutLanes(model, new Set([0]), (lane) => lane !== 1, false);
    expect(open.height - closed.height).toBe(LEVEL + open.boxes[2]!.height);
    expect(closed.boxOfLane[1]).toBe(-1);
    expect(closedAtFirst(model).size).toBe(0);
  });
});

describe('relations', () => {
  it('leads from a kernel to its call and operator', async () => {
    const model = await smallModel();
    const kernel = relationsOf(model, 5);
    expect(kernel).toMatchObject({ launchedBy: 1, operator: 0, forward: null, launchedCount: 0 });
    expect(arrowsOf(model, 5, kernel)).toEqual([{ from: 1, to: 5, kind: 'launch' }]);
  });

  it('leads from an operator to all its kernels and to its backward operator', async () => {
    const model = await smallModel();
    const op = relationsOf(model, 0);
    expect(op).toMatchObject({
      launched: [5, 6],
      launchedCount: 2,
      launchedNs: 240,
      backward: [4],
    });
    expect(arrowsOf(model, 0, op)).toEqual([
      { from: 0, to: 4, kind: 'backward' },
      { from: 1, to: 5, kind: 'launch' },
      { from: 2, to: 6, kind: 'launch' },
    ]);
    expect(relationsOf(model, 4)).toMatchObject({ forward: 0, launchedCount: 0 });
  });

  it('knows what encloses and what is inside', async () => {
    const model = await smallModel();
    expect(enclosing(model, 2)).toEqual([0]);
    expect(enclosing(model, 3)).toEqual([]);
    expect(endOfInner(model, 0)).toBe(3);
    expect(endOfInner(model, 3)).toBe(4);
  });
});

describe('search', () => {
  it('takes words in any case, and regular expressions', () => {
    const plain = compileQuery('ATEN');
    const regex = compileQuery('/^aten::(mm|add)$/');
    const broken = compileQuery('/(/');
    if (typeof plain !== 'function' || typeof regex !== 'function') throw new Error('not compiled');
    expect(plain('aten::mm')).toBe(true);
    expect(plain('mm')).toBe(false);
    expect(regex('aten::add')).toBe(true);
    expect(regex('aten::add_')).toBe(false);
    expect(broken).toHaveProperty('error');
  });

  it('walks all matches in time order, round the end, and back', async () => {
    const { timeline, text } = sampleJob(600, 5);
    const rows = await loadRows(text, timeline);
    const model = buildModel(timeline, rows, [], 1);
    const matches = findMatches(model, 'launch');
    if (!matches) throw new Error('no matches');
    const expected = Array.from({ length: rows.count }, (_, row) => row)
      .filter((row) => /launch/i.test(timeline.strings[rows.name[row]!]!))
      .sort((a, b) => rows.start[a]! - rows.start[b]! || a - b);
    expect(matches.count).toBe(expected.length);
    let at = -1;
    for (const [i, row] of expected.entries()) {
      at = nextMatch(model, matches, at, 0, false);
      expect(at).toBe(row);
      expect(rankOf(model, matches, at)).toBe(i + 1);
    }
    expect(nextMatch(model, matches, at, 0, false)).toBe(expected[0]);
    expect(nextMatch(model, matches, expected[0]!, 0, true)).toBe(expected[expected.length - 1]);
  });

  it('counts matches before each position', async () => {
    const model = await smallModel();
    const matches = findMatches(model, 'cudaLaunch');
    expect(matches?.count).toBe(2);
    expect(matches?.before[model.set.row.length]).toBe(2);
    expect(findMatches(model, '')).toBeNull();
    expect(findMatches(model, 'nowhere')?.count).toBe(0);
    expect(findMatches(model, '/[/')?.error).toBeTruthy();
  });
});

describe('sums of a span', () => {
  it('counts the part inside', async () => {
    const model = await smallModel();
    const sums = sumSpan(model, { start: 160, end: 400 }, [0, 1, 2], 'all', 10);
    const named = sums.byName.map((sum) => [model.header.strings[sum.name], sum.count, sum.total]);
    expect(named).toEqual([
      ['aten::mm', 1, 240],
      ['gemm', 1, 100],
      ['cudaLaunchKernel', 2, 30],
    ]);
  });

  it('agrees with a plain walk over all rows', async () => {
    const { timeline, text } = sampleJob(3000, 9);
    const rows = await loadRows(text, timeline);
    const model = buildModel(timeline, rows, [], 1);
    const next = random(3);
    for (let query = 0; query < 20; ++query) {
      const start = next() * model.spanNs;
      const end = start + next() * (model.spanNs - start);
      const sums = sumSpan(model, { start, end }, [0, 1, 2, 6], 'all', 1000);
      const inside = [0, 1, 2, 6].flatMap((lane) => {
        const { first, last } = timeline.lanes[lane]!;
        return Array.from({ length: last - first }, (_, i) => first + i);
      });
      const part = (row: number) =>
        Math.min(end, rows.start[row]! + rows.duration[row]!) - Math.max(start, rows.start[row]!);
      const wanted = inside.filter((row) => part(row) > 0).reduce((sum, row) => sum + part(row), 0);
      expect(sums.byName.reduce((sum, one) => sum + one.total, 0)).toBeCloseTo(wanted, 2);
      expect(sums.rows).toBe(inside.filter((row) => part(row) > 0).length);
    }
  });

  it('can leave out one side, and says how many names it leaves out', async () => {
    const model = await smallModel();
    expect(sumSpan(model, { start: 0, end: 700 }, [0, 1, 2], 'device', 10).rows).toBe(2);
    expect(sumSpan(model, { start: 0, end: 700 }, [0, 1, 2], 'host', 1).left).toBe(3);
  });
});
