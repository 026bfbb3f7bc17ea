// SPDX-License-Identifier: Apache-2.0
// Serves timeline_harness.html with sample data to a headless Chromium.
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';
import { chromium } from 'playwright-core';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The two data scripts of a page that hone wrote, named by $HONE_PAGES and the query. */
async function dataOfPage(name) {
  const html = await readFile(
    join(process.env.HONE_PAGES ?? '.', `${basename(name)}.html`),
    'utf8',
  );
  const [, report] = /<script id="hone-report"[^>]*>([^<]*)<\/script>/.exec(html) ?? [];
  const [, text] = /<script id="hone-rows"[^>]*>([^<]*)<\/script>/.exec(html) ?? [];
  return JSON.stringify({ page: JSON.parse(report ?? '{}').page, text });
}

export async function openHarness() {
  const server = await createServer({
    root,
    configFile: false,
    logLevel: 'error',
    server: { port: 0, host: '127.0.0.1', hmr: false, watch: null },
    esbuild: false,
    plugins: [
      {
        name: 'sample',
        configureServer(vite) {
          vite.middlewares.use('/sample', async (request, response) => {
            response.setHeader('content-type', 'application/json');
            const words = new URL(request.url, 'http://x').searchParams;
            if (words.get('page')) {
              response.end(await dataOfPage(words.get('page')));
              return;
            }
            const rows = Number(words.get('rows'));
            const { sampleJob } = await vite.ssrLoadModule('/tests/timeline_sample.ts');
            const { page, text } = sampleJob(rows);
            response.end(JSON.stringify({ page, text }));
          });
        },
      },
    ],
  });
  await server.listen();
  const address = server.httpServer.address();
  const browser = await chromium.launch({
    executablePath: process.env.HONE_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  return {
    browser,
    url: (query) => `http://127.0.0.1:${address.port}/tests/timeline_harness.html?${query}`,
    close: async () => {
      await browser.close();
      await server.close();
    },
  };
}
