// SPDX-License-Identifier: Apache-2.0
// Writes the pages that the tests open, with the program itself, from traces of this repository.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import type { TestProject } from 'vitest/node';

const repo = fileURLToPath(new URL('../../..', import.meta.url));
const traces = join(repo, 'tests/traces');

/** A name that would run code, were it ever HTML. */
export const HOSTILE = '</script><img src=x onerror="window.hacked=1"><b>&amp;\u2028';

declare module 'vitest' {
  interface ProvidedContext {
    pages: string;
  }
}

/** What hone wrote is opened as it is. A program that embeds an older page than the one in the tree
 *  gives only its data: the tests are about the page in the tree. */
function writePage(trace: string, target: string): void {
  const hone = process.env['HONE'] ?? join(repo, 'build/hone');
  execFileSync(hone, ['analyze', trace, '--html', target], { stdio: 'pipe' });
  const html = readFileSync(target, 'utf8');
  const current = readFileSync(join(repo, 'web/dist/page.html'), 'utf8');
  const data =
    /<script id="hone-report"[^]*?<\/script>\s*<script id="hone-rows"[^]*?<\/script>/.exec(html);
  if (!data) throw new Error(`${target}: hone put no data into the page`);
  if (
    html.replace(data[0], '').replace(/\s+/g, '') ===
    current.replace('<!--hone:data-->', '').replace(/\s+/g, '')
  )
    return;
  console.log(
    `${hone} embeds another page than web/dist/page.html; its data is shown by the latter`,
  );
  writeFileSync(
    target,
    current.replace('<!--hone:data-->', () => data[0]),
  );
}

function hostileTrace(target: string): void {
  const text = gunzipSync(readFileSync(join(traces, 'tiny_bad_light.json.gz'))).toString('utf8');
  const name = /"cat": "kernel", "name": ("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
  if (!name) throw new Error('tiny_bad_light.json.gz has no kernel');
  const hostile = text.split(`"name": ${name}`).join(`"name": ${JSON.stringify(HOSTILE)}`);
  writeFileSync(
    target,
    hostile.replace(/"aten::mul"/g, () => JSON.stringify(`aten::${HOSTILE}`)),
  );
}

export default function setup(project: TestProject) {
  const folder = mkdtempSync(join(tmpdir(), 'hone-pages-'));
  const path = (name: string) => join(folder, name);
  hostileTrace(path('hostile.json'));
  execFileSync('python3', [
    join(repo, 'bench/make_trace.py'),
    join(traces, 'resnet50_bad_light.json.gz'),
    ...['-o', path('big.json.gz'), '--mb', '70', '--level', '1'],
  ]);
  writePage(join(traces, 'resnet50_bad_light.json.gz'), path('resnet.html'));
  writePage(path('hostile.json'), path('hostile.html'));
  writePage(path('big.json.gz'), path('big.html'));
  project.provide('pages', folder);
  return () => rmSync(folder, { recursive: true, force: true });
}
