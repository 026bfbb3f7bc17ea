// SPDX-License-Identifier: Apache-2.0
// The first screen, as somebody reads and presses it. The figures are those of the bundled trace.
import { expect, test } from 'vitest';
import { open, useBrowser } from './browser.js';

useBrowser();

test('the first screen says what is wrong and what to type', async () => {
  const { page, done } = await open('resnet');
  const main = await page.innerText('main');
  expect(main).toContain('mostly: waiting for data');
  expect(main).toMatch(/step, median\s+195 ms\s+p95 200 ms/);
  expect(main).toContain('data is loaded in the main process while the device waits');
  expect(main).toContain('num_workers=4');
  expect(main).toContain('hone help input-bound');
  expect(main).toMatch(/memory-growth, fragmentation\s+no allocator events/);
  expect(await page.title()).toContain('hone');
  const bar = page.getByRole('img', { name: /a step of .* ms: GPU compute/ });
  const whole = (await bar.boundingBox())?.width ?? 0;
  const parts = await bar.locator('.part').evaluateAll((all) =>
    all.map((part) => ({
      said: Number(/([\d.]+) %$/.exec(part.getAttribute('title') ?? '')?.[1] ?? NaN),
      width: part.getBoundingClientRect().width,
    })),
  );
  expect(parts.length).toBeGreaterThan(4);
  for (const { said, width } of parts) expect((100 * width) / whole).toBeCloseTo(said, 0);
  await done();
});

test('a what-if switch changes the predicted step, and the link keeps it', async () => {
  const { page, done } = await open('resnet');
  const answer = page.locator('.answer');
  await expect.poll(() => answer.innerText()).toContain('Switch fixes on');
  await page.getByRole('checkbox', { name: /worker processes make the batches/ }).check();
  // What is predicted is the program's to say; that each switch counts, and in its direction, is the page's.
  const steps = async () =>
    (
      /^([\d.]+) → ([\d.]+) ms a step \([\d.]+–[\d.]+\), [\d.]+x/.exec(await answer.innerText()) ??
      []
    )
      .slice(1)
      .map(Number);
  await expect.poll(steps).toHaveLength(2);
  const [bare, one] = (await steps()) as [number, number];
  expect(one).toBeLessThan(bare);
  await page.getByRole('checkbox', { name: /matrix work runs on tensor cores/ }).check();
  await expect.poll(async () => (await steps())[1]).toBeLessThan(one);
  const [before, both] = (await steps()) as [number, number];
  expect(before).toBe(bare);
  await page.waitForFunction(() => location.hash.includes('fix=3'));
  await page.reload();
  await expect.poll(steps).toEqual([bare, both]);
  await page.getByRole('button', { name: 'fix none' }).click();
  await expect.poll(() => answer.innerText()).toContain('Switch fixes on');
  await done();
});

test('code is copied as it stands', async () => {
  const { page, done } = await open('resnet', '', {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  await page.getByRole('button', { name: 'copy the code for input-bound' }).click();
  await page.getByText('copied', { exact: true }).waitFor();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  expect(text.split('\n')).toEqual([
    'DataLoader(..., num_workers=4, pin_memory=True, persistent_workers=True)',
    '# an IterableDataset must split its samples by torch.utils.data.get_worker_info()',
  ]);
  await done();
});

test('a finding leads to its place in the timeline and back', async () => {
  const { page, done } = await open('resnet');
  await page
    .getByRole('button', { name: /^show in timeline/ })
    .first()
    .click();
  await page.waitForSelector('.tl-scroll canvas');
  expect(await page.evaluate(() => location.hash)).toMatch(/tab=timeline.*finding=0/);
  await page.goBack();
  await page.getByText('What to do').waitFor();
  await done();
});

test('keys: help, next view, filter', async () => {
  const { page, done } = await open('resnet');
  await page.keyboard.press('?');
  await expect.poll(() => page.getByRole('dialog').innerText()).toContain('previous and next view');
  await page.keyboard.press('Escape');
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  for (let i = 0; i < 3; ++i) await page.keyboard.press(']');
  await page.getByRole('table', { name: 'operators' }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('conv');
  await page.waitForFunction(() => location.hash.includes('filter.ops=conv'));
  await done();
});

test('the theme can be turned round', async () => {
  const { page, done } = await open('resnet', '', { colorScheme: 'dark' });
  const ground = () =>
    page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  expect(await ground()).toBe('rgb(17, 20, 23)');
  await page.getByRole('button', { name: 'light' }).click();
  expect(await ground()).toBe('rgb(255, 255, 255)');
  await done();
});
