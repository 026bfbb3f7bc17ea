// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them. Three significant digits in text; fixed decimals in columns, so that
// points stand under each other. Unknown is an en dash, never 0.

export const UNKNOWN = '–';

const grouped = new Map<number, Intl.NumberFormat>();

/** 12345.678 with 1 decimal: "12,345.7". */
export function fixed(value: number, decimals: number): string {
  let format = grouped.get(decimals);
  if (!format) {
    format = new Intl.NumberFormat('en-US', {
      minimumFractionDigits: decimals,
      maximumFractionDigits: decimals,
    });
    grouped.set(decimals, format);
  }
  return format.format(value);
}

/** Three significant digits, never an exponent: 195.9 → "196", 2.9412 → "2.94", 0.0441 → "0.044". */
export function significant(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95) return fixed(value, 0);
  if (size >= 9.995) return fixed(value, 1);
  if (size >= 0.9995 || size === 0) return fixed(value, size === 0 ? 0 : 2);
  if (size >= 0.0005) return fixed(value, 3);
  return value > 0 ? '<0.001' : '>-0.001';
}

/** A time that is given in milliseconds: "196 ms", "1.23 s", "42.7 µs". */
export function time(ms: number): string {
  const size = Math.abs(ms);
  if (size >= 60_000) return `${significant(ms / 60_000)} min`;
  if (size >= 1000) return `${significant(ms / 1000)} s`;
  if (size >= 1 || size === 0) return `${significant(ms)} ms`;
  if (size >= 0.001) return `${significant(ms * 1000)} µs`;
  return `${fixed(ms * 1e6, 0)} ns`;
}

/** The same unit for a row of figures: the milliseconds of a step. */
export function ms(value: number): string {
  return fixed(value, Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 99.95 ? 1 : 2);
}

/** A share of 0 to 1: "55.0 %"; what rounds to nothing says so. */
export function share(value: number): string {
  if (value > 0 && value < 0.0005) return '<0.1 %';
  return `${fixed(value * 100, 1)} %`;
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytes(value: number): string {
  let unit = 0;
  let size = value;
  while (Math.abs(size) >= 1024 && unit < BYTE_UNITS.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? fixed(size, 0) : significant(size)} ${BYTE_UNITS[unit] ?? ''}`;
}

/** 2.1332 → "2.1x", 1.0319 → "1.03x", as in the text answer. */
export function speedup(value: number): string {
  return `${fixed(value, value < 1.095 ? 2 : value < 9.95 ? 1 : 0)}x`;
}

export function count(value: number): string {
  return fixed(value, Number.isInteger(value) ? 0 : 1);
}

/** "1 step", "4 steps". */
export function plural(value: number, word: string, words = `${word}s`): string {
  return `${count(value)} ${value === 1 ? word : words}`;
}

/** An id of the report as words: "host-work" → "host work", "device_self_ms" → "device self". */
export function words(id: string): string {
  return id.replace(/[-_]/g, ' ');
}
