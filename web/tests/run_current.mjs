// SPDX-License-Identifier: Apache-2.0
// The checked-in page is what the sources give: the program embeds it without building it.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
if (!existsSync(`${root}node_modules/vite`)) {
  console.log('web.current: skipped: no web/node_modules; run tools/install_web');
  process.exit(77);
}
const folder = mkdtempSync(join(tmpdir(), 'hone-page-'));
try {
  const build = spawnSync(process.execPath, [`${root}node_modules/vite/bin/vite.js`, 'build'], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, HONE_WEB_OUT: folder },
  });
  if (build.status !== 0) {
    console.log(`web.current: the page does not build\n${build.stdout}${build.stderr}`);
    process.exit(1);
  }
  const fresh = readFileSync(join(folder, 'page.html'));
  const kept = readFileSync(`${root}dist/page.html`);
  if (!fresh.equals(kept)) {
    console.log(
      `web.current: web/dist/page.html (${kept.length} bytes) is not what the sources give ` +
        `(${fresh.length} bytes); run npm run build in web/ and commit it`,
    );
    process.exit(1);
  }
  console.log(`web.current: web/dist/page.html is current (${kept.length} bytes)`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
