// SPDX-License-Identifier: Apache-2.0
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { open, useBrowser } from './browser.js';

useBrowser();

const VIEWS: [string, RegExp][] = [
  ['timeline', /GPU 0/],
  ['flame', /operators/],
  ['memory', /Memory: not in this report. No allocator events.*profile_memory=True/],
  ['steps', /Critical path/],
  ['efficiency', /Kernels by family/],
  ['transfers', /Host waits/],
  ['comm', /Communication: not in this report. No collective/],
  ['loader', /in-process/],
  ['python', /Python: not in this report. .*with_stack=True/],
  ['counters', /Machine counters: not in this report/],
];

const column = (page: Page, table: string, index: number) =>
  page
    .locator(`#table-${table} .grid-row > div:nth-child(${index})`)
    .evaluateAll((cells) => cells.map((cell) => cell.textContent ?? ''));

const falls = (values: number[]) =>
  values.every((value, i) => i === 0 || value <= (values[i - 1] ?? 0));

test('kernels are sorted, filtered and gathered', async () => {
  const { page, done } = await open('resnet', '#tab=kernels');
  const table = page.getByRole('table', { name: 'kernels' });
  await table.getByRole('button', { name: 'count', exact: true }).click();
  const counts = (await column(page, 'kernels', 4)).map((text) => Number(text.replace(/,/g, '')));
  expect(counts.length).toBeGreaterThan(10);
  expect(falls(counts)).toBe(true);
  await page.getByRole('searchbox').fill('memcpy -dtod');
  const names = await column(page, 'kernels', 1);
  expect(names.length).toBeGreaterThan(0);
  expect(names.every((name) => /memcpy/i.test(name) && !/dtod/i.test(name))).toBe(true);
  await page.getByRole('searchbox').fill('');
  await page.getByRole('combobox').selectOption('class');
  expect((await column(page, 'kernels', 1)).sort()).toEqual(['compute', 'copy']);
  await done();
});

test('arrow keys walk the rows and show each in full', async () => {
  const { page, done } = await open('resnet', '#tab=ops');
  await page.locator('#table-ops').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  const second = (await column(page, 'ops', 1))[1] ?? '?';
  await expect.poll(() => page.locator('.detail code').innerText()).toBe(second);
  await page.keyboard.press('End');
  await expect.poll(() => page.locator('.grid-row.selected').isVisible()).toBe(true);
  await page.getByRole('button', { name: 'find in timeline' }).click();
  await page.waitForSelector('.tl-scroll canvas');
  expect(await page.evaluate(() => location.hash)).toContain('q=');
  await done();
});

test('a table is copied as CSV', async () => {
  const { page, done } = await open('resnet', '#tab=transfers', {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  await page.getByRole('button', { name: 'copy the shown copies as CSV' }).click();
  await page.getByText('copied', { exact: true }).waitFor();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  expect(text).toMatch(/^direction,source,target,count,bytes,total_ms,exposed_ms,/);
  await done();
});

test('every view shows its data or says why not', async () => {
  const { page, done } = await open('resnet');
  for (const [tab, text] of VIEWS) {
    await page.evaluate((to) => (location.hash = `#tab=${to}`), tab);
    await page.locator('main', { hasText: text }).waitFor({ timeout: 5000 });
  }
  await done();
});
