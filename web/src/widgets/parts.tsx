// SPDX-License-Identifier: Apache-2.0
// Small things that every view is made of.
import type { ComponentChildren } from 'preact';
import { UNKNOWN } from '../model/format.js';
import type { Maybe } from '../model/report.js';
import { isAbsent } from '../model/report.js';

interface SectionProps {
  title: string;
  /** One line beside the title: what one looks at. */
  note?: ComponentChildren;
  children: ComponentChildren;
  id?: string;
}

export function Section({ title, note, children, id }: SectionProps) {
  return (
    <section class="section" {...(id ? { id } : {})}>
      <h2>
        {title}
        {note !== undefined && note !== null && <span class="note">{note}</span>}
      </h2>
      {children}
    </section>
  );
}

/** Says that something is not in the trace, why, and so what to do: never an empty box. */
export function Missing({ what, why }: { what: string; why: string }) {
  return (
    <p class="missing">
      <b>{what}:</b> not in this report. {why.charAt(0).toUpperCase() + why.slice(1)}.
    </p>
  );
}

export interface FigureItem {
  label: string;
  value: ComponentChildren;
  note?: ComponentChildren;
  title?: string;
}

/** Key figures in a row. */
export function Figures({ items }: { items: FigureItem[] }) {
  return (
    <dl class="figures">
      {items.map((item) => (
        <div key={item.label} {...(item.title ? { title: item.title } : {})}>
          <dt>{item.label}</dt>
          <dd>
            {item.value}
            {item.note !== undefined && <small>{item.note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** A value in words, or a dash that says why there is none. */
export function Value<T>({
  of,
  as,
}: {
  of: Maybe<T> | null | undefined;
  as: (value: T) => string;
}) {
  if (of === null || of === undefined) return <>{UNKNOWN}</>;
  if (isAbsent(of)) return <abbr title={of.absent}>{UNKNOWN}</abbr>;
  return <>{as(of)}</>;
}
