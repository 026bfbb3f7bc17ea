// SPDX-License-Identifier: Apache-2.0
import { bytes, count } from '../model/format.js';
import { known } from '../model/report.js';
import { usePage } from '../widgets/context.js';
import type { Theme } from './contract.js';

interface Props {
  theme: Theme;
  onTheme: () => void;
  onHelp: () => void;
}

export function TitleBar({ theme, onTheme, onHelp }: Props) {
  const { report } = usePage();
  const { trace, page } = report;
  const title = page?.title ?? trace.path;
  const what = whatOf(report.trace, known(page?.headline)?.what ?? '');
  return (
    <header class="title">
      <b class="mark">hone</b>
      <h1 title={trace.path}>{title}</h1>
      <span class="what">{what}</span>
      <span class="buttons noprint">
        <button type="button" class="small" onClick={onTheme}>
          {theme === 'dark' ? 'light' : 'dark'}
        </button>
        <button type="button" class="small" onClick={onHelp} aria-label="keys" title="keys (?)">
          ?
        </button>
      </span>
    </header>
  );
}

type Trace = ReturnType<typeof usePage>['report']['trace'];

/** Of the headline only what the figures below do not say again: recorder, rank, device. */
function whatOf(trace: Trace, headline: string): string {
  const named = headline
    .split(' · ')
    .filter((part) => !/ steps? (of|after) |busy|^peak |^trust/.test(part));
  const size = [
    trace.events === null ? null : `${count(trace.events)} events`,
    trace.input_bytes === null ? null : bytes(trace.input_bytes),
  ];
  return [...named, ...size].filter(Boolean).join(' · ');
}
