// SPDX-License-Identifier: Apache-2.0
// The page in a real browser: exits with 77 (skipped) where the browser, Node's packages or the program are
// missing.
//   HONE=build/hone CHROMIUM=/usr/bin/chromium npm run page
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const hone = process.env.HONE ?? `${root}../build/hone`;
const chromium = process.env.CHROMIUM ?? '/usr/bin/chromium';

function runs(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function skip(why) {
  console.log(`web.page: skipped: ${why}`);
  process.exit(77);
}

if (!existsSync(`${root}node_modules/vitest`)) skip('no web/node_modules; run tools/install_web');
if (!runs(chromium)) skip(`no browser at ${chromium}; run tools/install_web, or set CHROMIUM`);
if (!runs(hone)) skip(`no program at ${hone}; build it, or set HONE`);
const help = spawnSync(hone, ['analyze', '--help'], { encoding: 'utf8' });
if (!help.stdout?.includes('--html')) skip(`${hone} has no --html`);

const tests = spawnSync(
  process.execPath,
  [`${root}node_modules/vitest/vitest.mjs`, 'run', '--config', 'tests/page/vitest.config.ts'],
  { cwd: root, stdio: 'inherit', env: { ...process.env, HONE: hone, CHROMIUM: chromium } },
);
process.exit(tests.status ?? 1);
