// SPDX-License-Identifier: Apache-2.0
// Types, lint and unit tests, as ctest runs them: exits with 77 (skipped) without node_modules.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
if (!existsSync(`${root}node_modules/vitest`)) {
  console.log('web.unit: skipped: no web/node_modules; run tools/install_web');
  process.exit(77);
}
for (const [what, ...args] of [
  ['typescript/bin/tsc', '--noEmit'],
  ['eslint/bin/eslint.js', '.'],
  ['prettier/bin/prettier.cjs', '--check', '.'],
  ['vitest/vitest.mjs', 'run', '--config', 'vite.config.ts'],
]) {
  const { status } = spawnSync(process.execPath, [`${root}node_modules/${what}`, ...args], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}
