// SPDX-License-Identifier: Apache-2.0
// Times as words: always four figures at most, the unit that keeps them readable.

const UNITS: [ns: number, unit: string][] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
];

/** "850 ns", "12.34 µs", "1.234 ms", "131.9 ms". */
export function durationText(ns: number): string {
  const size = Math.abs(ns);
  for (const [unitNs, unit] of UNITS) {
    // A figure that would round up to 1000 belongs to the next unit.
    if (size < unitNs * 0.99995) continue;
    const value = ns / unitNs;
    const whole = Math.floor(Math.log10(Math.abs(value))) + 1;
    return `${value.toFixed(Math.max(0, Math.min(3, 4 - whole)))} ${unit}`;
  }
  return `${Math.round(ns)} ns`;
}

/** A moment, exact to what a window of `windowNs` can tell apart. */
export function momentText(ns: number, windowNs: number): string {
  const places = Math.max(0, Math.min(6, Math.ceil(Math.log10(1e6 / Math.max(1, windowNs)) + 4)));
  return `${(ns / 1e6).toFixed(places)} ms`;
}

export interface Ticks {
  first: number;
  step: number;
  text: (ns: number) => string;
}

/** Round moments, about `wanted` of them in the window. */
export function ticksFor(start: number, end: number, wanted: number): Ticks {
  const raw = Math.max((end - start) / Math.max(1, wanted), 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999) ?? 10 * power;
  const [unitNs, unit] = UNITS.find(([ns]) => Math.max(Math.abs(end), step) >= ns) ?? [1, 'ns'];
  const places = Math.max(0, Math.ceil(-Math.log10(step / unitNs) - 1e-9));
  return {
    first: Math.ceil(start / step) * step,
    step,
    text: (ns) => `${(ns / unitNs).toFixed(places)} ${unit}`,
  };
}

export function countText(n: number): string {
  return n.toLocaleString('en');
}

export function percentText(share: number): string {
  const percent = share * 100;
  if (percent > 0 && percent < 0.1) return '<0.1 %';
  return `${percent >= 10 ? percent.toFixed(0) : percent.toFixed(1)} %`;
}

/** Templates of PyTorch that only carry another function: not what a kernel does. */
const CARRIERS =
  /^(gpu_kernel\w*|[AB]UnaryFunctor|BinaryFunctor|ReduceOp|func_wrapper_t|\w*TensorListMetadata\w*)$/;
const WORK = /(Functor|functor|Ops$|_kernel|kernel_|^launch_|_cuda_out$)/;

/** "MulFunctor" of vectorized_elementwise_kernel<4, at::native::BinaryFunctor<…MulFunctor<float>>>. */
function workOf(templates: string): string | null {
  for (const [, word] of templates.slice(0, 600).matchAll(/::(\w+)/g)) {
    if (word && WORK.test(word) && !CARRIERS.test(word)) return word;
  }
  return null;
}

/**
 * The part of a kernel's name a person knows it by: no return type, template arguments, parameters
 * or namespaces. PyTorch's general kernels are told apart by the function they carry.
 */
export function shortKernel(name: string): string {
  if (!/[<(]/.test(name)) return name;
  let bare = name.replace(/^void\s+/, '').replace(/\(anonymous namespace\)::/g, '');
  const cut = bare.search(/[<(]/);
  const templates = bare[cut] === '<' ? bare.slice(cut) : '';
  if (cut > 0) bare = bare.slice(0, cut);
  const colons = bare.lastIndexOf('::');
  if (colons >= 0 && colons + 2 < bare.length) bare = bare.slice(colons + 2);
  bare = bare.trim() || name;
  let work = templates.includes('at::native') ? workOf(templates) : null;
  // CUTLASS calls them all Kernel; its first argument has the name.
  if (/^Kernel\d?$/.test(bare)) work = /^<(?:\w+::)*(\w{6,})/.exec(templates)?.[1] ?? work;
  return work && work !== bare ? `${work} · ${bare}` : bare;
}

/** "torch/nn/modules/module.py(1770): _call_impl" is known as "_call_impl module.py:1770". */
export function shortFunction(name: string): string {
  const place = /^(.*?)\((\d+)\): (.+)$/.exec(name);
  if (!place) return name;
  const file = place[1]!.split('/').pop();
  return `${place[3]} ${file}:${place[2]}`;
}

const labels = new Map<string, string>();

/** What a box is called; the whole name stands in its details. */
export function labelOf(name: string): string {
  let label = labels.get(name);
  if (label === undefined) {
    if (labels.size > 50_000) labels.clear();
    label = shortFunction(name).replace(/^autograd::engine::evaluate_function: /, 'evaluate ');
    // Only C++ has these: names such as enumerate(DataLoader)#... stay as they are.
    if (label === name && /^void\s|::|^\w+<|<.*>\(/.test(name)) {
      label = /^[\w.]+::[\w.]+$/.test(name) ? name : shortKernel(name);
    }
    labels.set(name, label);
  }
  return label;
}
