// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { sampleJob, sampleTree } from '../../../tests/timeline_sample.js';
import type { Tree } from '../../model/page.js';
import { findNodes, layOut, pathOf, selfByName, weightsOf } from './tree.js';

//  a 100            e 20
//  b 60    c 30
//  d 60
const TREE: Tree = {
  unit: 'ns',
  sampled: false,
  name: [1, 2, 3, 2, 5],
  parent: [-1, 0, 0, 1, -1],
  self: [10, 0, 30, 60, 20],
  total: [100, 60, 30, 60, 20],
  device: [50, 0, 50, 0, 0],
  calls: [1, 2, 3, 4, 5],
};

const NAMES = ['', 'a', 'b', 'c', 'd', 'e'];

describe('icicle', () => {
  it('stands children under their parent, largest first', () => {
    const icicle = layOut(TREE, 'host');
    expect(icicle.whole).toBe(120);
    expect([...icicle.start]).toEqual([0, 0, 60, 0, 100]);
    expect([...icicle.depth]).toEqual([0, 1, 1, 2, 0]);
    expect(icicle.levels).toBe(3);
    expect(pathOf(TREE, 3)).toEqual([0, 1, 3]);
    expect(pathOf(TREE, -1)).toEqual([]);
  });

  it('by device time leaves out what has none, and finds self time', () => {
    const icicle = layOut(TREE, 'device');
    expect(icicle.whole).toBe(50);
    expect([...icicle.self]).toEqual([0, 0, 50, 0, 0]);
    expect([...icicle.set.row].map((i) => icicle.order[i])).toEqual([0, 2]);
    expect(weightsOf({ ...TREE, device: null })).toEqual(['host']);
  });

  it('shows children to scale where they have more than their parent', () => {
    const icicle = layOut({ ...TREE, total: [40, 60, 30, 60, 20] }, 'host');
    expect(icicle.start[2]).toBeCloseTo(40 * (60 / 90), 6);
    expect(icicle.set.end[2]! - icicle.set.start[2]!).toBeCloseTo(40 * (60 / 90), 6);
  });

  it('never lets a node reach out of its parent or into its neighbour', () => {
    const { timeline } = sampleJob(100);
    const tree = sampleTree(timeline, 3000, 5);
    const icicle = layOut(tree, 'host');
    for (const track of icicle.set.tracks) {
      for (let p = track.from; p < track.to; ++p) {
        const node = icicle.order[icicle.set.row[p]!]!;
        const parent = tree.parent[node]!;
        if (p > track.from) {
          expect(icicle.set.start[p]!).toBeGreaterThanOrEqual(icicle.set.end[p - 1]! - 1e-3);
        }
        if (parent < 0) continue;
        expect(icicle.start[node]!).toBeGreaterThanOrEqual(icicle.start[parent]! - 1e-3);
        expect(icicle.start[node]! + icicle.total[node]!).toBeLessThanOrEqual(
          icicle.start[parent]! + icicle.total[parent]! + 1e-3,
        );
      }
    }
  });

  it('sums self time by name, everywhere and under a node', () => {
    const icicle = layOut(TREE, 'host');
    expect(
      selfByName(icicle, NAMES, -1, 10).map(({ name, self, calls }) => [name, self, calls]),
    ).toEqual([
      [2, 60, 6],
      [3, 30, 3],
      [5, 20, 5],
      [1, 10, 1],
    ]);
    expect(selfByName(icicle, NAMES, 1, 10).map(({ name, self }) => [name, self])).toEqual([
      [2, 60],
    ]);
    expect(selfByName(icicle, NAMES, -1, 1)).toHaveLength(1);
  });

  it('gives the device time of a launch to its caller, its host time to itself', () => {
    const tree: Tree = {
      ...TREE,
      name: [1, 2],
      parent: [-1, 0],
      self: [5, 5],
      total: [10, 5],
      device: [70, 70],
      calls: [1, 9],
    };
    const names = ['', 'aten::mm', 'cudaLaunchKernel'];
    const device = selfByName(layOut(tree, 'device'), names, -1, 5);
    expect(device).toEqual([{ name: 1, self: 70, calls: 1, node: 0 }]);
    expect(selfByName(layOut(tree, 'host'), names, -1, 5).map(({ name }) => name)).toEqual([1, 2]);
    // Zoomed into the launch itself there is nobody else to give it to.
    expect(selfByName(layOut(tree, 'device'), names, 1, 5)[0]?.name).toBe(2);
  });

  it('counts the time of a match once, however often it calls itself', () => {
    const icicle = layOut(TREE, 'host');
    const found = findNodes(icicle, (name) => name === 2);
    expect(found.nodes).toEqual([1, 3]);
    expect(found.weight).toBe(60);
  });
});
