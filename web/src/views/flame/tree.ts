// SPDX-License-Identifier: Apache-2.0
// A call tree laid out as an icicle: nodes side by side by weight, children under their parent.
import type { Tree } from '../../model/page.js';
import { buildTracks, type TrackSet } from '../timeline/tracks.js';

export type Weight = 'host' | 'device';

export interface Icicle {
  tree: Tree;
  weight: Weight;
  /** Sum over the roots. */
  whole: number;
  /** By node, in units of the weight. */
  start: Float64Array;
  total: Float64Array;
  self: Float64Array;
  depth: Uint16Array;
  levels: number;
  /** Tracks by level; set.row is an index into `order`, which holds nodes. */
  set: TrackSet;
  order: Uint32Array;
  /** Children of node i: kids[firstKid[i], firstKid[i + 1]), largest first; roots stand at i = nodes. */
  kids: Uint32Array;
  firstKid: Uint32Array;
}

export function weightsOf(tree: Tree): Weight[] {
  return tree.device ? ['host', 'device'] : ['host'];
}

/** O(n log n) in the nodes. A parent that has less than its children together shows them to scale. */
export function layOut(tree: Tree, weight: Weight): Icicle {
  const n = tree.parent.length;
  const values = weight === 'device' && tree.device ? tree.device : tree.total;
  const total = Float64Array.from(values, (value) => Math.max(0, value));
  const { kids, firstKid } = kidsOf(tree, total);
  const start = new Float64Array(n);
  const shown = Float64Array.from(total);
  const depth = new Uint16Array(n);
  const self = new Float64Array(n);
  let levels = 1;
  const place = (parent: number, from: number, room: number): number => {
    let sum = 0;
    for (let k = firstKid[parent]!; k < firstKid[parent + 1]!; ++k) sum += total[kids[k]!]!;
    const scale = sum > room && sum > 0 ? room / sum : 1;
    for (let k = firstKid[parent]!; k < firstKid[parent + 1]!; ++k) {
      const kid = kids[k]!;
      start[kid] = from;
      shown[kid] = total[kid]! * scale;
      from += shown[kid];
    }
    return sum;
  };
  const whole = place(n, 0, Infinity);
  for (let node = 0; node < n; ++node) {
    const parent = tree.parent[node]!;
    depth[node] = parent < 0 ? 0 : depth[parent]! + 1;
    levels = Math.max(levels, depth[node]! + 1);
    const inKids = place(node, start[node]!, shown[node]!);
    self[node] = weight === 'host' ? tree.self[node]! : Math.max(0, total[node]! - inKids);
  }
  const order = Uint32Array.from({ length: n }, (_, i) => i).sort(
    (a, b) => depth[a]! - depth[b]! || start[a]! - start[b]! || a - b,
  );
  const set = buildTracks(
    n,
    levels,
    Float64Array.from(order, (node) => start[node]!),
    Float64Array.from(order, (node) => shown[node]!),
    (i) => (shown[order[i]!]! > 0 ? depth[order[i]!]! : -1),
  );
  return { tree, weight, whole, start, total, self, depth, levels, set, order, kids, firstKid };
}

function kidsOf(tree: Tree, total: Float64Array): Pick<Icicle, 'kids' | 'firstKid'> {
  const n = tree.parent.length;
  const slot = (node: number) => {
    const parent = tree.parent[node]!;
    return parent >= 0 && parent < node ? parent : n;
  };
  const firstKid = new Uint32Array(n + 2);
  for (let node = 0; node < n; ++node) ++firstKid[slot(node) + 1]!;
  for (let i = 0; i <= n; ++i) firstKid[i + 1]! += firstKid[i]!;
  const next = firstKid.slice();
  const kids = new Uint32Array(n);
  for (let node = 0; node < n; ++node) kids[next[slot(node)]!++] = node;
  for (let i = 0; i <= n; ++i) {
    kids.subarray(firstKid[i], firstKid[i + 1]).sort((a, b) => total[b]! - total[a]! || a - b);
  }
  return { kids, firstKid };
}

/** From the root down to the node itself. */
export function pathOf(tree: Tree, node: number): number[] {
  const path: number[] = [];
  for (let at = node; at >= 0 && path.length <= tree.parent.length; at = tree.parent[at]!)
    path.push(at);
  return path.reverse();
}

/** Is `node` inside the tree under `top` (itself counted)? By place: no walk up. */
export function isUnder(icicle: Icicle, node: number, top: number): boolean {
  if (top < 0 || node === top) return true;
  if (icicle.depth[node]! <= icicle.depth[top]!) return false;
  const middle = icicle.start[node]! + icicle.total[node]! / 2;
  return middle >= icicle.start[top]! && middle < icicle.start[top]! + icicle.total[top]!;
}

export interface SelfSum {
  name: number;
  self: number;
  calls: number;
  /** Its largest node. */
  node: number;
}

/** Calls that put work on a device: CUDA, its driver, HIP. */
export function isLaunch(name: string): boolean {
  return /^(cuda|cu|hip)[A-Z]\w*$/.test(name);
}

/**
 * Self time by name under `top` (-1: all), largest first. By device time what a launch has counts
 * for its caller: that all kernels come from cudaLaunchKernel says nothing.
 */
export function selfByName(
  icicle: Icicle,
  strings: readonly string[],
  top: number,
  most: number,
): SelfSum[] {
  const { tree, self } = icicle;
  const under = new Uint8Array(tree.parent.length);
  const sums = new Map<number, SelfSum>();
  for (let node = 0; node < under.length; ++node) {
    const parent = tree.parent[node]!;
    if (top >= 0 && node !== top && !(parent >= 0 && under[parent])) continue;
    under[node] = 1;
    const inside = parent >= 0 && under[parent] === 1;
    const handed = icicle.weight === 'device' && inside && isLaunch(strings[tree.name[node]!]!);
    const name = tree.name[handed ? parent : node]!;
    const sum = sums.get(name) ?? { name, self: 0, calls: 0, node };
    sum.self += self[node]!;
    if (!handed) sum.calls += tree.calls[node]!;
    if (self[node]! > self[sum.node]!) sum.node = handed ? parent : node;
    sums.set(name, sum);
  }
  return [...sums.values()]
    .filter((sum) => sum.self > 0)
    .sort((a, b) => b.self - a.self || a.name - b.name)
    .slice(0, most);
}

export interface Found {
  error: string | null;
  /** By node. */
  match: Uint8Array;
  nodes: number[];
  /** Weight of the outermost matches: what they and all they call take. */
  weight: number;
}

export function findNodes(icicle: Icicle, test: (name: number) => boolean): Found {
  const { tree, total } = icicle;
  const match = new Uint8Array(tree.parent.length);
  const inside = new Uint8Array(tree.parent.length);
  const nodes: number[] = [];
  let weight = 0;
  for (let node = 0; node < match.length; ++node) {
    const parent = tree.parent[node]!;
    const covered = parent >= 0 && inside[parent] === 1;
    match[node] = test(tree.name[node]!) ? 1 : 0;
    inside[node] = covered || match[node] === 1 ? 1 : 0;
    if (match[node] !== 1) continue;
    nodes.push(node);
    if (!covered) weight += total[node]!;
  }
  nodes.sort((a, b) => icicle.start[a]! - icicle.start[b]! || icicle.depth[a]! - icicle.depth[b]!);
  return { error: null, match, nodes, weight };
}
