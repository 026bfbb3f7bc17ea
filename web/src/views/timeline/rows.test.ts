// SPDX-License-Identifier: Apache-2.0
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { NONE, pack, random, type LaneSpec } from '../../../tests/timeline_pack.js';
import { sampleJob } from '../../../tests/timeline_sample.js';
import type { PageTimeline } from '../../model/page.js';
import { Base64Decoder, loadRows } from '../../model/rows.js';

function decodeInPieces(text: string, piece: number): Buffer {
  const decoder = new Base64Decoder();
  const parts: Uint8Array[] = [];
  for (let at = 0; at < text.length; at += piece) {
    parts.push(decoder.decode(text, at, Math.min(at + piece, text.length)));
  }
  parts.push(decoder.end());
  return Buffer.concat(parts);
}

describe('base64', () => {
  it('is undone for every length and cut, with white space in between', () => {
    const next = random(11);
    for (let length = 0; length < 70; ++length) {
      const bytes = Buffer.from(Array.from({ length }, () => Math.floor(next() * 256)));
      const text = bytes.toString('base64').replace(/(.{7})/g, '$1\n ');
      for (const piece of [1, 2, 3, 5, 64]) expect(decodeInPieces(text, piece)).toEqual(bytes);
      expect(decodeInPieces(text.replace(/=/g, ''), 4)).toEqual(bytes);
    }
  });

  it('says where it is damaged', () => {
    expect(() => decodeInPieces('AAAA!AAA', 3)).toThrow('character 5 ');
    expect(() => decodeInPieces('AAAAA', 8)).toThrow('in the middle');
    expect(() => decodeInPieces('AA==AAAA', 8)).toThrow('character 5 ');
  });
});

const LANES: LaneSpec[] = [
  {
    kind: 'thread',
    name: 't',
    process: 'p',
    device: null,
    rows: [
      { start: 0, duration: 10, name: 'a', detail: 'shapes', depth: 0, kind: 0 },
      { start: 2, duration: 3, name: 'b', depth: 1, kind: 2 },
    ],
  },
];

describe('loadRows', () => {
  afterEach(() => vi.unstubAllGlobals());

  it('gives back what was packed', async () => {
    const { timeline, text } = pack(LANES, [{ start: 5, duration: 2, cause: 3 }]);
    const rows = await loadRows(text, timeline);
    expect([...rows.start]).toEqual([0, 2]);
    expect([...rows.duration]).toEqual([10, 3]);
    expect([...rows.name].map((id) => timeline.strings[id])).toEqual(['a', 'b']);
    expect([...rows.detail].map((id) => timeline.strings[id])).toEqual(['shapes', '']);
    expect([...rows.cause]).toEqual([NONE, NONE]);
    expect([...rows.gaps.cause]).toEqual([3]);
  });

  it('opens many pieces and tells how far it is', async () => {
    const { timeline, text } = sampleJob(120_000);
    const shares: number[] = [];
    const rows = await loadRows(text, timeline, (share) => shares.push(share));
    expect(rows.count).toBe(timeline.lanes[timeline.lanes.length - 1]?.last);
    expect(shares[shares.length - 1]).toBe(1);
    expect(shares.length).toBe(Math.ceil(text.length / 2 ** 20));
  });

  const { timeline, text } = pack(LANES, []);
  const damaged: [string, string, PageTimeline, string][] = [
    ['text cut short', text.slice(0, -12), timeline, 'cannot be unpacked'],
    ['text that is not base64', `?${text}`, timeline, 'character 1 of the rows is not base64'],
    ['text that is no gzip', 'AAAAAAAA', timeline, 'cannot be unpacked'],
    ['too few bytes', gzipSync(Buffer.alloc(8)).toString('base64'), timeline, 'are 8 bytes, their'],
    ['a missing column', text, { ...timeline, columns: {} }, 'rows are'],
    ['a string that is not there', text, { ...timeline, strings: [''] }, 'points to string'],
    [
      'a lane beyond the rows',
      text,
      { ...timeline, lanes: [{ ...timeline.lanes[0]!, last: 3 }] },
      'lane t has rows 0 to 3 of 2',
    ],
  ];
  it.each(damaged)('says what is wrong: %s', async (_, bad, header, why) => {
    const outcome = loadRows(bad, header);
    await expect(outcome).rejects.toThrow(why);
    await expect(outcome).rejects.toThrow('hone analyze TRACE --html');
  });

  it('says so when the browser cannot unpack', async () => {
    vi.stubGlobal('DecompressionStream', undefined);
    await expect(loadRows(text, timeline)).rejects.toThrow('Firefox 113');
  });
});
