// SPDX-License-Identifier: Apache-2.0
// Names in a trace are text, whatever they look like.
import { expect, test } from 'vitest';
import { open, useBrowser } from './browser.js';
import { HOSTILE } from './make_pages.js';

useBrowser();

test('a name that looks like HTML is shown and does nothing', async () => {
  const { page, done } = await open('hostile', '#tab=kernels');
  await page.getByRole('searchbox').fill('onerror');
  const cell = page.locator('.grid-row > div').first();
  await expect.poll(() => cell.textContent()).toContain(HOSTILE.slice(0, -1));
  await cell.click();
  await expect
    .poll(() => page.locator('.detail code').textContent())
    .toContain('<img src=x onerror=');
  for (const tab of ['overview', 'timeline', 'flame', 'ops', 'steps', 'efficiency']) {
    await page.evaluate((to) => (location.hash = `#tab=${to}`), tab);
    await page.waitForTimeout(200);
    await expect.poll(() => page.locator('img').count()).toBe(0);
  }
  await page.evaluate(() => (location.hash = '#tab=timeline&q=onerror'));
  await page.waitForTimeout(300);
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
  await done();
});

test('text that is made into HTML is refused by the page itself', async () => {
  const { page } = await open('hostile');
  const refused = await page.evaluate(() => {
    try {
      const box = document.createElement('div');
      Reflect.set(box, ['inner', 'HTML'].join(''), '<i></i>');
      return box.childNodes.length === 0;
    } catch {
      return true;
    }
  });
  expect(refused).toBe(true);
  await page.context().close();
});
