// SPDX-License-Identifier: Apache-2.0
// A made-up training job of any size for tests of the timeline: steps of operators with calls on a
// thread, a backward thread, loader threads, two streams, gaps with causes. The same seed gives the
// same job.
import type { Page, PageTimeline, Tree } from '../src/model/page.js';

import { pack, random, type GapSpec, type LaneSpec, type RowSpec } from './timeline_pack.js';

const OPS = [
  'aten::conv2d',
  'aten::batch_norm',
  'aten::relu_',
  'aten::linear',
  'aten::add_',
  'aten::softmax',
];
const INNER = [
  'aten::cudnn_convolution',
  'aten::native_batch_norm',
  'aten::clamp_min_',
  'aten::addmm',
];
const KERNELS = [
  'sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16',
  'void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(cudnnTensorStruct)',
  'void at::native::vectorized_elementwise_kernel<4, at::native::clamp_scalar_kernel_impl>(int)',
  'ampere_sgemm_128x64_tn',
  'void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<3>>(int)',
  'Memset (Device)',
];

/** About `count` rows. Times grow with the rows: a step takes about 10 ms for each 1,000 rows. */
export function sampleJob(
  count: number,
  seed = 1,
): { page: Page; timeline: PageTimeline; text: string } {
  const next = random(seed);
  const main: RowSpec[] = [];
  const backward: RowSpec[] = [];
  const compute: RowSpec[] = [];
  const copies: RowSpec[] = [];
  const comm: RowSpec[] = [];
  const loaders: RowSpec[][] = [[], [], []];
  const python: RowSpec[] = [];
  const gaps: GapSpec[] = [];
  const steps: { name: string; start_ns: number; end_ns: number; warm_up: boolean }[] = [];
  const stepCount = 6;
  const perStep = Math.max(4, Math.floor(count / stepCount / 9.1));
  let now = 1000;
  let device = 2000;
  const gap = (until: number, cause: number, blamed: RowSpec) => {
    if (until - device > 1000)
      gaps.push({ start: device, duration: until - device, cause, blamed });
  };
  for (let s = 0; s < stepCount; ++s) {
    const begin = now;
    const whole: RowSpec = {
      start: now,
      duration: 0,
      name: `ProfilerStep#${s + 3}`,
      depth: 0,
      kind: 1,
    };
    main.push(whole);
    const fetch: RowSpec = {
      start: now + 500,
      duration: perStep * 2600,
      name: 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__',
      depth: 1,
      kind: 1,
    };
    main.push(fetch);
    loaders.forEach((loader, i) => {
      for (let k = 0; k < 4; ++k)
        loader.push({
          start: now + k * perStep * 600 + i * 900,
          duration: perStep * 500,
          name: 'fetch batch',
          depth: 0,
          kind: 3,
        });
    });
    now += fetch.duration + 1000;
    const copyCall: RowSpec = {
      start: now,
      duration: 9000,
      name: 'cudaMemcpyAsync',
      depth: 1,
      kind: 2,
    };
    main.push(copyCall);
    gap(now + 2500, 0, fetch);
    copies.push({
      start: now + 2500,
      duration: 40_000,
      name: 'Memcpy HtoD (Pageable -> Device)',
      detail: '38.5 MB host to device',
      depth: 0,
      kind: 8,
      cause: copyCall,
    });
    device = Math.max(device, now + 42_500);
    now += 12_000;
    const forward: RowSpec[] = [];
    for (let i = 0; i < perStep; ++i) {
      const which = Math.floor(next() * OPS.length);
      const op: RowSpec = {
        start: now,
        duration: 0,
        name: OPS[which]!,
        detail: '[[64, 256, 14, 14], [256, 256, 3, 3]]',
        depth: 1,
        kind: 0,
      };
      main.push(op);
      forward.push(op);
      const inner: RowSpec = {
        start: now + 700,
        duration: 0,
        name: INNER[which % INNER.length]!,
        depth: 2,
        kind: 0,
      };
      main.push(inner);
      const call: RowSpec = {
        start: now + 1500,
        duration: 1800 + next() * 2500,
        name: 'cudaLaunchKernel',
        depth: 3,
        kind: 2,
      };
      main.push(call);
      inner.duration = 1600 + call.duration;
      op.duration = inner.duration + 1400;
      now = op.start + op.duration + 300 + next() * 900;
      const ready = call.start + 3000;
      if (ready > device) gap(ready, next() < 0.7 ? 5 : 6, op);
      const start = Math.max(ready, device);
      const duration = 1500 + next() ** 3 * 24_000;
      compute.push({
        start,
        duration,
        name: KERNELS[which]!,
        detail: 'grid 392x1x1, block 256x1x1',
        depth: 0,
        kind: which === 5 ? 9 : 7,
        cause: call,
      });
      device = start + duration;
    }
    const sync: RowSpec = {
      start: now,
      duration: 0,
      name: 'cudaStreamSynchronize',
      depth: 1,
      kind: 2,
    };
    main.push(sync);
    let back = now;
    for (let i = forward.length - 1; i >= 0; --i) {
      const op: RowSpec = {
        start: back,
        duration: 0,
        name: `${forward[i]!.name.replace('aten::', '')}Backward0`,
        depth: 0,
        kind: 0,
        cause: forward[i]!,
      };
      const call: RowSpec = {
        start: back + 1200,
        duration: 2200 + next() * 1500,
        name: 'cudaLaunchKernel',
        depth: 1,
        kind: 2,
      };
      op.duration = call.duration + 2000;
      backward.push(op, call);
      back = op.start + op.duration + 500;
      const ready = call.start + 2600;
      if (ready > device) gap(ready, 5, op);
      const start = Math.max(ready, device);
      const duration = 2500 + next() ** 3 * 30_000;
      compute.push({
        start,
        duration,
        name: KERNELS[(i * 7) % 5]!,
        detail: 'grid 784x1x1, block 128x1x1',
        depth: 0,
        kind: 7,
        cause: call,
      });
      device = start + duration;
      if (i % 12 === 0)
        comm.push({
          start: start + 500,
          duration: duration * 0.8,
          name: 'ncclDevKernel_AllReduce_Sum_f32_RING_LL',
          detail: '25.0 MB, 8 ranks',
          depth: 0,
          kind: 10,
          cause: call,
        });
    }
    now = Math.max(back, device) + 4000;
    addStacks(python, begin, now, perStep * 2, next);
    sync.duration = now - sync.start;
    whole.duration = now - begin;
    steps.push({ name: whole.name, start_ns: begin, end_ns: now, warm_up: s === 0 });
    now += 2000;
  }
  comm.forEach((row, i) => {
    const after = comm[i + 1];
    if (after) row.duration = Math.min(row.duration, after.start - row.start);
  });
  const lane = (
    kind: 'thread' | 'stream',
    name: string,
    rows: RowSpec[],
    device: number | null,
  ): LaneSpec => ({ kind, name, process: 'python 4711', device, rows });
  const { timeline, text } = pack(
    [
      lane('thread', 'python 4711', main, null),
      lane('thread', 'autograd 4790', backward, null),
      lane('thread', 'stacks 4711', python, null),
      ...loaders.map((rows, i) => lane('thread', `loader ${i}`, rows, null)),
      lane('stream', 'stream 7', compute, 0),
      lane('stream', 'stream 20', copies, 0),
      lane('stream', 'stream 24', comm, 0),
    ],
    gaps,
  );
  return { page: samplePage(steps, now, timeline), timeline, text };
}

/** About `count` Python calls, up to 40 deep, in [begin, end). */
function addStacks(
  python: RowSpec[],
  begin: number,
  end: number,
  count: number,
  next: () => number,
): void {
  const depth = 40;
  const trees = Math.max(1, Math.round(count / (depth * 2)));
  const room = (end - begin) / trees;
  for (let t = 0; t < trees; ++t) {
    let start = begin + t * room;
    let stop = start + room * 0.95;
    for (let d = 0; d < depth && stop - start > 4; ++d) {
      python.push({
        start,
        duration: stop - start,
        name: `module_${d % 9}.py(${d}): call_${Math.floor(next() * 30)}`,
        depth: d,
        kind: 3,
      });
      const inner = (stop - start) * 0.04;
      start += inner;
      stop -= inner;
    }
    // Short calls under the innermost.
    const calls = Math.min(depth, Math.floor((stop - start) / 3));
    for (let i = 0; i < calls; ++i) {
      const part = (stop - start) / calls;
      python.push({
        start: start + i * part,
        duration: part * 0.7,
        name: '<built-in method append>',
        depth,
        kind: 3,
      });
    }
  }
}

function samplePage(steps: Page['steps'], span: number, timeline: PageTimeline): Page {
  return {
    title: 'sample',
    command: 'hone analyze sample',
    begin_ns: '0',
    span_ns: span,
    headline: { absent: 'a sample' },
    steps,
    places: [[{ start_ns: span * 0.4, end_ns: span * 0.42, text: 'the longest wait', lane: 0 }]],
    whatif: { absent: 'a sample' },
    flame: {
      op: sampleTree(timeline, 2000, 3),
      module: { absent: 'modules were not recorded (with_modules=True)' },
      python: { absent: 'no Python stacks' },
    },
    counters: { absent: 'a sample' },
    timeline,
  };
}

/** A random tree of `count` nodes whose totals are the sums of their selves. */
export function sampleTree(timeline: PageTimeline, count: number, seed: number): Tree {
  const next = random(seed);
  const parent = [-1];
  const depth = [0];
  for (let i = 1; i < count; ++i) {
    let p = Math.floor(next() * Math.min(i, 400));
    while (depth[p]! > 14) p = parent[p]!;
    parent.push(p);
    depth.push(depth[p]! + 1);
  }
  const self = parent.map(() => Math.floor(next() ** 4 * 1e6) + 100);
  const device = parent.map(() => Math.floor(next() ** 5 * 2e6));
  const total = [...self];
  for (let i = count - 1; i > 0; --i) {
    total[parent[i]!]! += total[i]!;
    device[parent[i]!]! += device[i]!;
  }
  return {
    unit: 'ns',
    sampled: false,
    name: parent.map((_, i) => 1 + ((i * 7) % (timeline.strings.length - 1))),
    parent,
    self,
    total,
    device,
    calls: parent.map(() => 1 + Math.floor(next() * 50)),
  };
}
