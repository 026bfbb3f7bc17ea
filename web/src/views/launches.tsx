// SPDX-License-Identifier: Apache-2.0
// How kernels reach the device, and how small they are.
import * as format from '../model/format.js';
import { known, whyAbsent } from '../model/report.js';
import { usePage } from '../widgets/context.js';
import { Figures, Missing, Section } from '../widgets/parts.js';

export function KernelSizes() {
  const { report } = usePage();
  const sizes = known(report.kernel_sizes);
  if (!sizes) {
    return (
      <Section title="Kernel sizes">
        <Missing what="Kernel sizes" why={whyAbsent(report.kernel_sizes) ?? 'no kernels'} />
      </Section>
    );
  }
  const most = Math.max(...sizes.buckets.map((bucket) => bucket.count), 1);
  const mostMs = Math.max(...sizes.buckets.map((bucket) => bucket.ms), 1e-9);
  let from = 0;
  const small = sizes.kernels > 0 ? sizes.under_10us / sizes.kernels : 0;
  return (
    <Section
      title="Kernel sizes"
      note={`${format.count(sizes.under_10us)} of ${format.count(sizes.kernels)} (${format.share(small)}) run under 10 µs`}
    >
      <table class="bars">
        <thead>
          <tr>
            <th scope="col">µs</th>
            <th scope="col" class="num">
              kernels
            </th>
            <th scope="col" aria-label="kernels, as a bar" />
            <th scope="col" class="num">
              ms
            </th>
            <th scope="col" aria-label="ms, as a bar" />
          </tr>
        </thead>
        <tbody>
          {sizes.buckets.map((bucket) => {
            const name =
              bucket.below_us === null
                ? `${format.count(from)} and more`
                : `${format.count(from)}–${format.count(bucket.below_us)}`;
            from = bucket.below_us ?? from;
            return (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="num">{format.count(bucket.count)}</td>
                <td class="bar-cell">
                  <i style={{ width: `${(bucket.count / most) * 100}%` }} />
                </td>
                <td class="num">{format.fixed(bucket.ms, 2)}</td>
                <td class="bar-cell">
                  <i class="time" style={{ width: `${(bucket.ms / mostMs) * 100}%` }} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Section>
  );
}

export function Launches() {
  const { report } = usePage();
  const launches = known(report.launches);
  if (!launches) {
    return (
      <Section title="Launches">
        <Missing what="Launches" why={whyAbsent(report.launches) ?? 'no launch calls'} />
      </Section>
    );
  }
  const value = (key: string, as: (value: number) => string) => {
    const number = launches[key];
    return typeof number === 'number' ? as(number) : format.UNKNOWN;
  };
  const us = (number: number) => format.time(number / 1000);
  return (
    <Section title="Launches" note="from the call on the host to the start on the device">
      <Figures
        items={[
          { label: 'launches', value: value('launches', format.count) },
          {
            label: 'call',
            value: value('call_p50_us', us),
            note: `p95 ${value('call_p95_us', us)}`,
          },
          {
            label: 'delay to start',
            value: value('delay_p50_us', us),
            note: `p95 ${value('delay_p95_us', us)}, max ${value('delay_max_us', us)}`,
          },
          {
            label: 'starved',
            value: value('starved', format.count),
            title: 'launches that found the device with nothing to do',
          },
          {
            label: 'queue',
            value: value('queue_mean', format.significant),
            note: `mean; max ${value('queue_max', format.count)}`,
          },
          { label: 'queue full', value: value('queue_full', format.count), note: 'times' },
        ]}
      />
    </Section>
  );
}
