// SPDX-License-Identifier: Apache-2.0
// A page opened from disk in a headless Chromium, which watches what must never happen.
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, inject } from 'vitest';

let browser: Browser | undefined;

export function useBrowser() {
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
      args: ['--no-sandbox'],
    });
  });
  afterAll(() => browser?.close());
}

export interface Opened {
  page: Page;
  /** Fails when the page wrote an error, threw, or asked for anything but itself; then closes it. */
  done: () => Promise<void>;
}

export async function open(
  name: string,
  hash = '',
  options: BrowserContextOptions = {},
): Promise<Opened> {
  if (!browser) throw new Error('useBrowser() was not called');
  const context = await browser.newContext({
    viewport: { width: 1600, height: 1000 },
    ...options,
  });
  const page = await context.newPage();
  const url = `file://${join(inject('pages'), `${name}.html`)}`;
  const wrong: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') wrong.push(message.text());
  });
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:')) {
      wrong.push(`asks for ${request.url()}`);
    }
  });
  await page.goto(url + hash);
  await page.waitForSelector('main');
  return {
    page,
    done: async () => {
      await context.close();
      expect(wrong).toEqual([]);
    },
  };
}
