// SPDX-License-Identifier: Apache-2.0
// Narrow, printed, without colour: what can be measured of it.
import { expect, test } from 'vitest';
import { open, useBrowser } from './browser.js';

useBrowser();

const TABS = ['overview', 'timeline', 'flame', 'ops', 'kernels', 'steps', 'efficiency', 'loader'];

test.each([390, 768, 1600])('nothing runs out of a window of %d', async (width) => {
  const { page, done } = await open('resnet', '', { viewport: { width, height: 844 } });
  for (const tab of TABS) {
    await page.evaluate((to) => (location.hash = `#tab=${to}`), tab);
    await page.waitForTimeout(100);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect([tab, over]).toEqual([tab, 0]);
  }
  await done();
});

test('on paper every finding is open and nothing is to be pressed', async () => {
  const { page, done } = await open('resnet');
  await page.emulateMedia({ media: 'print' });
  const closed = page.locator('.finding details:not([open])');
  await expect.poll(() => closed.count(), { timeout: 5000 }).toBe(0);
  await expect.poll(() => page.locator('nav').isVisible()).toBe(false);
  expect((await page.pdf()).length).toBeGreaterThan(10_000);
  await done();
});

test('what can be focused shows that it is', async () => {
  const { page, done } = await open('resnet');
  for (let i = 0; i < 25; ++i) {
    await page.keyboard.press('Tab');
    const shown = await page.evaluate(() => {
      const element = document.activeElement;
      if (!element || element === document.body) return 'nothing';
      return getComputedStyle(element).outlineStyle;
    });
    expect(shown).toBe('solid');
  }
  await done();
});
