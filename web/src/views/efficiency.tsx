// SPDX-License-Identifier: Apache-2.0
// How well the device is used: figures, roofline, kernels by family.
import { useMemo } from 'preact/hooks';
import { FAMILIES, ROOFLINE } from '../model/columns.js';
import * as format from '../model/format.js';
import type { Efficiency as Model, Row } from '../model/report.js';
import { known, whyAbsent } from '../model/report.js';
import { roofOf } from '../model/roofline.js';
import { usePage } from '../widgets/context.js';
import { Figures, Missing, Section, Value } from '../widgets/parts.js';
import { Table } from '../widgets/table.js';
import { RooflinePlot } from './roofline.js';

function matrixShare(efficiency: Model): { value: string; note: string } {
  const on = known(efficiency.matrix_on_ms);
  const off = known(efficiency.matrix_off_ms);
  if (on === null || off === null || on + off <= 0) return { value: format.UNKNOWN, note: '' };
  return { value: format.share(on / (on + off)), note: `${format.ms(off)} ms without` };
}

export function Efficiency() {
  const { report } = usePage();
  const efficiency = known(report.efficiency);
  const roof = useMemo(() => (efficiency ? roofOf(efficiency) : null), [efficiency]);
  if (!efficiency || !roof) {
    return (
      <Section title="Efficiency">
        <Missing what="Efficiency" why={whyAbsent(report.efficiency) ?? 'no kernels'} />
      </Section>
    );
  }
  const peaks = known(efficiency.peaks);
  const matrix = matrixShare(efficiency);
  const rows = known(efficiency.roofline);
  const families = known(efficiency.families);
  const why = whyAbsent(efficiency.roofline) ?? whyAbsent(efficiency.tflops_per_s);
  return (
    <>
      <Section title="Efficiency" note={efficiency.device_name ?? ''}>
        <Figures
          items={[
            {
              label: 'achieved',
              value: (
                <Value
                  of={efficiency.tflops_per_s}
                  as={(v: number) => `${format.significant(v)} TFLOP/s`}
                />
              ),
            },
            {
              label: 'of peak FLOPs',
              value: <Value of={efficiency.model_flops_utilization} as={format.share} />,
              title: 'model FLOPs utilization',
            },
            {
              label: 'on tensor cores',
              value: matrix.value,
              note: matrix.note,
              title:
                'time of matrix kernels on tensor cores, of all matrix kernels whose unit is known',
            },
            {
              label: 'occupancy',
              value: (
                <Value
                  of={efficiency.occupancy_pct}
                  as={(v: number) => `${format.fixed(v, 1)} %`}
                />
              ),
              title: 'weighed by time',
            },
            {
              label: 'SMs reached',
              value: (
                <Value of={efficiency.sm_share_pct} as={(v: number) => `${format.fixed(v, 1)} %`} />
              ),
              title: 'of the multiprocessors, by the size of grids, weighed by time',
            },
            {
              label: 'time with a FLOP model',
              value: <Value of={efficiency.modelled_share} as={format.share} />,
            },
          ]}
        />
        <p class="sub">
          {peaks
            ? `Ceilings of ${String(peaks['name'] ?? 'the device')}, ${peaks['measured'] ? 'measured' : 'from the data sheet'}.`
            : `Ceilings are not known: ${whyAbsent(efficiency.peaks) ?? 'the device has no name'}.`}
        </p>
      </Section>
      <Section
        title="Roofline"
        note={
          roof.unplaced
            ? `${format.plural(roof.unplaced, 'row')} without FLOPs or bytes are only in the table`
            : ''
        }
      >
        {roof.points.length ? (
          <RooflinePlot roof={roof} />
        ) : (
          <Missing what="Roofline" why={why ?? 'no operator has FLOPs and bytes'} />
        )}
        {rows && rows.length > 0 && (
          <Table
            id="roofline"
            what="operators"
            rows={rows as unknown as Row[]}
            columns={ROOFLINE}
            groups={[
              { key: 'op', label: 'operator' },
              { key: 'bound', label: 'bound' },
              { key: 'precision', label: 'type' },
            ]}
            find={(row) => (typeof row['op'] === 'string' ? row['op'] : null)}
          />
        )}
      </Section>
      <Section title="Kernels by family">
        {families?.length ? (
          <Table
            id="families"
            what="families"
            rows={families}
            columns={FAMILIES}
            groups={[
              { key: 'family', label: 'family' },
              { key: 'precision', label: 'type' },
            ]}
          />
        ) : (
          <Missing what="Families" why={whyAbsent(efficiency.families) ?? 'no compute kernels'} />
        )}
      </Section>
    </>
  );
}
