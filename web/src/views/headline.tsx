// SPDX-License-Identifier: Apache-2.0
// The figures that one looks for first.
import * as format from '../model/format.js';
import type { Report } from '../model/report.js';
import { known, whyAbsent } from '../model/report.js';
import { splitOf } from '../model/shares.js';
import { barOf, isRemark } from '../model/verdict.js';
import { usePage } from '../widgets/context.js';
import type { FigureItem } from '../widgets/parts.js';
import { Figures, Value } from '../widgets/parts.js';
import { TrustMark } from './trust.js';

function stepItems(report: Report): FigureItem[] {
  const steps = known(report.steps);
  if (!steps) {
    const why = whyAbsent(report.steps) ?? 'none were found';
    return [{ label: 'step', value: format.UNKNOWN, note: 'no steps found', title: why }];
  }
  const warm = steps.warm_up_count;
  return [
    {
      label: 'step, median',
      value: <Value of={steps.median_ms} as={format.time} />,
      note: (
        <>
          p95 <Value of={steps.p95_ms} as={format.time} />
        </>
      ),
      title: 'of steady steps; warm-up is left out',
    },
    {
      label: 'steps',
      value: format.count(steps.steady_count),
      note: warm > 0 ? `and ${format.count(warm)} warming up` : 'all steady',
      title: `found by: ${steps.source}`,
    },
  ];
}

/** The step that the replay predicts with every finding fixed. */
function togetherItem(report: Report): FigureItem[] {
  const together = known(known(report.replay)?.together_ms);
  const faults = (known(report.findings) ?? []).some((finding) => !isRemark(finding));
  if (!together || !faults) return [];
  return [
    {
      label: 'all fixed, predicted',
      value: format.time(together.likely),
      note: `${format.significant(together.low)}–${format.significant(together.high)} ms`,
      title: 'every finding fixed, replayed together',
    },
  ];
}

function memoryItem(report: Report): FigureItem[] {
  const memory = known(report.memory);
  const gpu = memory?.devices.find((device) => device.type !== 'host') ?? memory?.devices[0];
  if (!gpu || gpu.peak_allocated_bytes === null) return [];
  const of = gpu.capacity_bytes === null ? '' : `of ${format.bytes(gpu.capacity_bytes)}`;
  return [{ label: 'peak memory', value: format.bytes(gpu.peak_allocated_bytes), note: of }];
}

export function Headline() {
  const { report } = usePage();
  const { of, segments } = barOf(report);
  const { total_ms, work_ms } = splitOf(segments);
  const items = stepItems(report);
  if (of === 'device' && total_ms > 0) {
    items.push({
      label: 'GPU busy',
      value: format.share(work_ms / total_ms),
      note: `${format.ms(work_ms)} of ${format.ms(total_ms)} ms`,
      title: 'mean of the steady steps',
    });
  }
  items.push(...memoryItem(report));
  const mfu = known(known(report.efficiency)?.model_flops_utilization);
  if (mfu !== null) {
    items.push({
      label: 'of peak FLOPs',
      value: format.share(mfu),
      title: 'model FLOPs utilization: modelled FLOPs over what the device could do in a step',
    });
  }
  items.push(...togetherItem(report));
  items.push({ label: 'trust', value: <TrustMark />, note: trustNote(report) });
  return <Figures items={items} />;
}

function trustNote(report: Report): string {
  const { reasons, losses } = report.trust;
  if (reasons.length) return format.plural(reasons.length, 'reason') + ' below';
  const counted = losses.filter((loss) => loss.severity !== 'info');
  return counted.length
    ? format.plural(counted.length, 'small loss', 'small losses')
    : 'nothing lost';
}
