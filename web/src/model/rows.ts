// SPDX-License-Identifier: Apache-2.0
// Rows of the timeline: base64 of gzip of columns -> typed arrays (docs/design/page.md, "Columns").
//
// Everything a view indexes with is checked here once (linear, some milliseconds for a million
// rows), so that no drawing code has to ask whether a string, a row or a cause exists.
import { BROWSERS } from './browsers.js';
import type { Column, PageTimeline } from './page.js';
import { isAbsent } from './report.js';

/** "No row" in the columns `cause` and `gap_blamed`. */
export const NO_ROW = 0xffffffff;

export const KINDS = [
  'operator',
  'annotation',
  'API call',
  'Python',
  'OS',
  'profiler',
  'other',
  'kernel',
  'copy',
  'set',
  'communication',
  'graph',
] as const;
export const KIND_OPERATOR = 0;
/** Kinds from this one on run on a device. */
export const KIND_DEVICE = 7;

export interface Gaps {
  count: number;
  start: Float64Array;
  duration: Float64Array;
  cause: Uint8Array;
  blamed: Uint32Array;
}

/** Times in ns from `page.begin_ns`. */
export interface Rows {
  count: number;
  start: Float64Array;
  duration: Float64Array;
  name: Uint32Array;
  detail: Uint32Array;
  depth: Uint8Array;
  kind: Uint8Array;
  cause: Uint32Array;
  gaps: Gaps;
}

const AGAIN = 'write the page again with hone analyze TRACE --html report.html';

class Damaged extends Error {}

function digits(n: number): string {
  return n.toLocaleString('en');
}

const SKIP = 64;
const PAD = 65;
const BAD = 66;
const SEXTET = new Uint8Array(128).fill(BAD);
{
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  for (let i = 0; i < 64; ++i) SEXTET[alphabet.charCodeAt(i)] = i;
  for (const space of ' \t\r\n\f') SEXTET[space.charCodeAt(0)] = SKIP;
  SEXTET['='.charCodeAt(0)] = PAD;
}

/** Base64 by table, in pieces of any length; white space between the characters is skipped. */
export class Base64Decoder {
  private bits = 0;
  private held = 0;
  private padded = false;

  /** Bytes of text[from, to); throws with the position of a character that is not base64. */
  decode(text: string, from: number, to: number): Uint8Array<ArrayBuffer> {
    const out = new Uint8Array((((to - from + 3) * 3) >> 2) + 3);
    let n = 0;
    let { bits, held } = this;
    for (let i = from; i < to; ++i) {
      const code = text.charCodeAt(i);
      const value = code < 128 ? (SEXTET[code] as number) : BAD;
      if (value < 64 && !this.padded) {
        bits = (bits << 6) | value;
        if (++held === 4) {
          out[n++] = bits >> 16;
          out[n++] = bits >> 8;
          out[n++] = bits;
          bits = held = 0;
        }
      } else if (value === PAD) {
        this.padded = true;
      } else if (value !== SKIP) {
        throw new Damaged(`character ${digits(i + 1)} of the rows is not base64`);
      }
    }
    this.bits = bits;
    this.held = held;
    return out.subarray(0, n);
  }

  /** The bytes of an unfinished group of four. */
  end(): Uint8Array<ArrayBuffer> {
    if (this.held === 2) return Uint8Array.of(this.bits >> 4);
    if (this.held === 3) return Uint8Array.of(this.bits >> 10, this.bits >> 2);
    if (this.held === 1) throw new Damaged('the base64 of the rows ends in the middle of a byte');
    return new Uint8Array(0);
  }
}

const BYTES: Record<string, number> = { f64: 8, u32: 4, u8: 1 };

function bytesNeeded(columns: Record<string, Column>): number {
  let end = 0;
  for (const [name, { type, offset, count }] of Object.entries(columns)) {
    const width = BYTES[type];
    if (width === undefined) throw new Damaged(`column ${name} has the unknown type ${type}`);
    const whole = Number.isSafeInteger(offset) && Number.isSafeInteger(count);
    if (!whole || offset < 0 || count < 0 || offset % width !== 0) {
      throw new Damaged(`column ${name} has no valid place (offset ${offset}, count ${count})`);
    }
    end = Math.max(end, offset + count * width);
  }
  return end;
}

/** Lets the browser paint between two pieces; a message comes sooner than a timer's 4 ms. */
function breathe(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}

const PIECE = 1 << 20;

/** Unpacks into one buffer of `expected` bytes; what pads the end to the alignment may follow. */
async function unpack(
  text: string,
  expected: number,
  progress: (share: number) => void,
): Promise<ArrayBuffer> {
  const out = new Uint8Array(expected);
  let filled = 0;
  const stream = new DecompressionStream('gzip');
  const drained = (async () => {
    const reader = stream.readable.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      if (filled < expected) out.set(value.subarray(0, expected - filled), filled);
      filled += value.length;
    }
  })();
  drained.catch(() => undefined); // awaited below; until then it must not count as unhandled
  const writer = stream.writable.getWriter();
  writer.closed.catch(() => undefined);
  const base64 = new Base64Decoder();
  try {
    for (let at = 0; at < text.length; at += PIECE) {
      await writer.write(base64.decode(text, at, Math.min(at + PIECE, text.length)));
      progress(Math.min(1, (at + PIECE) / text.length));
      await breathe();
    }
    await writer.write(base64.end());
    await writer.close();
    await drained;
  } catch (error) {
    if (error instanceof Damaged) throw error;
    throw new Damaged(`the rows cannot be unpacked after ${digits(filled)} bytes`);
  }
  if (filled < expected || filled >= expected + 8) {
    throw new Damaged(
      `the rows are ${digits(filled)} bytes, their directory speaks of ${digits(expected)}`,
    );
  }
  return out.buffer;
}

function view(buffer: ArrayBuffer, columns: Record<string, Column>): Rows {
  const place = (name: string, type: string): [ArrayBuffer, number, number] => {
    const column = columns[name];
    if (!column) throw new Damaged(`column ${name} is missing`);
    if (column.type !== type) throw new Damaged(`column ${name} is ${column.type}, not ${type}`);
    return [buffer, column.offset, column.count];
  };
  const start = new Float64Array(...place('start', 'f64'));
  const gapStart = new Float64Array(...place('gap_start', 'f64'));
  return {
    count: start.length,
    start,
    duration: new Float64Array(...place('duration', 'f64')),
    name: new Uint32Array(...place('name', 'u32')),
    detail: new Uint32Array(...place('detail', 'u32')),
    depth: new Uint8Array(...place('depth', 'u8')),
    kind: new Uint8Array(...place('kind', 'u8')),
    cause: new Uint32Array(...place('cause', 'u32')),
    gaps: {
      count: gapStart.length,
      start: gapStart,
      duration: new Float64Array(...place('gap_duration', 'f64')),
      cause: new Uint8Array(...place('gap_cause', 'u8')),
      blamed: new Uint32Array(...place('gap_blamed', 'u32')),
    },
  };
}

function checkBelow(
  column: Uint32Array | Uint8Array,
  limit: number,
  what: string,
  noneAllowed = false,
): void {
  for (let i = 0; i < column.length; ++i) {
    const value = column[i] as number;
    if (value < limit || (noneAllowed && value === NO_ROW)) continue;
    throw new Damaged(`row ${digits(i)} points to ${what} ${digits(value)} of ${digits(limit)}`);
  }
}

function checkTimes(start: Float64Array, duration: Float64Array): void {
  for (let i = 0; i < start.length; ++i) {
    const length = duration[i] as number;
    if (Number.isFinite(start[i]) && length >= 0 && Number.isFinite(length)) continue;
    throw new Damaged(`row ${digits(i)} has no valid time`);
  }
}

function check(rows: Rows, { strings, gaps, lanes }: PageTimeline): void {
  const lengths = (columns: object, prefix: string, count: number) => {
    for (const [name, column] of Object.entries(columns)) {
      if (!ArrayBuffer.isView(column)) continue;
      const { length } = column as Uint8Array;
      if (length === count) continue;
      throw new Damaged(`column ${prefix}${name} has ${length} rows, ${prefix}start has ${count}`);
    }
  };
  lengths(rows, '', rows.count);
  lengths(rows.gaps, 'gap_', rows.gaps.count);
  checkTimes(rows.start, rows.duration);
  checkTimes(rows.gaps.start, rows.gaps.duration);
  checkBelow(rows.name, strings.length, 'string');
  checkBelow(rows.detail, strings.length, 'string');
  checkBelow(rows.kind, KINDS.length, 'kind');
  checkBelow(rows.cause, rows.count, 'row', true);
  checkBelow(rows.gaps.blamed, rows.count, 'row', true);
  checkBelow(rows.gaps.cause, isAbsent(gaps) ? 0 : gaps.causes.length, 'cause');
  let at = 0;
  for (const { name, first, last } of lanes) {
    if (!(first >= at && last >= first && last <= rows.count)) {
      throw new Damaged(`lane ${name} has rows ${first} to ${last} of ${rows.count}`);
    }
    at = last;
  }
}

/**
 * Opens `text`, the content of the script `hone-rows`. Rejects with an Error whose message is a
 * sentence for the reader. `progress` gets the share done; the browser can paint in between.
 */
export async function loadRows(
  text: string,
  timeline: PageTimeline,
  progress: (share: number) => void = () => undefined,
): Promise<Rows> {
  if (typeof DecompressionStream === 'undefined') {
    throw new Error(
      'this browser cannot unpack the rows of the timeline (it has no DecompressionStream); ' +
        `open the page with ${BROWSERS} or later`,
    );
  }
  try {
    const bytes = await unpack(text, bytesNeeded(timeline.columns), progress);
    const rows = view(bytes, timeline.columns);
    check(rows, timeline);
    return rows;
  } catch (error) {
    const why =
      error instanceof Damaged ? error.message : `the rows cannot be read (${String(error)})`;
    throw new Error(`${why}; the file is damaged, ${AGAIN}`, { cause: error });
  }
}
