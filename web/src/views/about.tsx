// SPDX-License-Identifier: Apache-2.0
// What was read, by what, and how to write this page again.
import * as format from '../model/format.js';
import type { TraceInfo } from '../model/report.js';
import { usePage } from '../widgets/context.js';
import { CopyButton } from '../widgets/copy.js';
import { Section } from '../widgets/parts.js';

function sizeOf(trace: TraceInfo): string | null {
  if (trace.input_bytes === null) return null;
  const raw = trace.raw_bytes;
  const inflated =
    raw === null || raw === trace.input_bytes ? '' : `, ${format.bytes(raw)} decompressed`;
  return `${format.bytes(trace.input_bytes)}${inflated}`;
}

function known(entries: Record<string, string | boolean | null>): string | null {
  const parts = Object.entries(entries).flatMap(([name, value]) => {
    if (value === null) return [];
    const said = typeof value === 'boolean' ? (value ? 'on' : 'off') : value;
    return [`${format.words(name)} ${said}`];
  });
  return parts.length ? parts.join(', ') : null;
}

function linesOf(trace: TraceInfo, version: string): [string, string | null][] {
  const devices = trace.devices.map((device) => device.name ?? `device ${device.id}, no name`);
  return [
    ['file', trace.path],
    ['size', sizeOf(trace)],
    ['events', trace.events === null ? null : format.count(trace.events)],
    ['recorded by', trace.recorder],
    ['settings', known(trace.settings)],
    ['versions', known(trace.versions)],
    ['devices', devices.length ? devices.join(', ') : null],
    ['read by', `hone ${version}`],
  ];
}

export function About() {
  const { report } = usePage();
  const command = report.page?.command;
  return (
    <Section title="About this report">
      <dl class="about">
        {linesOf(report.trace, report.hone_version).map(
          ([name, value]) =>
            value !== null && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
        {command && (
          <div>
            <dt>command</dt>
            <dd>
              <code>{command}</code>{' '}
              <CopyButton label="copy" title="copy the command" text={() => command} />
            </dd>
          </div>
        )}
      </dl>
    </Section>
  );
}
