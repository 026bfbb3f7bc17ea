// SPDX-License-Identifier: Apache-2.0
// Why devices idle, and how each of several spends its time.
import { useMemo } from 'preact/hooks';
import { DEVICES, IDLE } from '../model/columns.js';
import type { Row } from '../model/report.js';
import { known, whyAbsent } from '../model/report.js';
import { usePage } from '../widgets/context.js';
import { Missing, Section } from '../widgets/parts.js';
import { Table } from '../widgets/table.js';

export function IdleCauses() {
  const { report } = usePage();
  const causes = known(report.idle);
  const rows = useMemo(() => {
    const list = (causes ?? []).filter((cause) => cause.ms > 0 || (cause.steady_ms ?? 0) > 0);
    const total = list.reduce((sum, cause) => sum + cause.ms, 0);
    return [...list]
      .sort((a, b) => b.ms - a.ms)
      .map((cause): Row => ({ ...cause, share: total > 0 ? cause.ms / total : null }));
  }, [causes]);
  return (
    <Section title="Idle by cause" note="of the busiest device">
      {rows.length ? (
        <Table id="idle" what="causes" rows={rows} columns={IDLE} />
      ) : (
        <Missing what="Idle time" why={whyAbsent(report.idle) ?? 'the device never idles'} />
      )}
    </Section>
  );
}

export function Devices() {
  const { report } = usePage();
  const devices = known(report.timeline)?.per_device;
  const rows = useMemo(
    () =>
      devices?.map((device): Row => {
        const busy_share = device.total_ms > 0 ? device.busy_ms / device.total_ms : null;
        return { ...device, busy_share, name: `device ${device.device}` };
      }),
    [devices],
  );
  if (!rows || rows.length < 2) return null;
  return (
    <Section title="Devices" note="each from its first to its last work">
      <Table id="devices" what="devices" rows={rows} columns={DEVICES} />
    </Section>
  );
}
