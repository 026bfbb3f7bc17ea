// SPDX-License-Identifier: Apache-2.0
// The flame chart as somebody uses it.
import { expect, test } from 'vitest';
import { open, useBrowser } from './browser.js';

useBrowser();

async function openFlame(hash = '') {
  const opened = await open('resnet', `#tab=flame${hash}`);
  await opened.page.waitForSelector('.fl .tl-sums tbody tr');
  return opened;
}

test('a click zooms in, the path leads out', async () => {
  const { page, done } = await openFlame();
  const box = await page.locator('.fl canvas').boundingBox();
  if (!box) throw new Error('no canvas');
  await page.mouse.move(box.x + 20, box.y + 30);
  const tip = await page.locator('.tl-tip').innerText();
  expect(tip).toMatch(/total .*self .*of all .* %.*calls \d/s);
  await page.mouse.click(box.x + 20, box.y + 30);
  const path = page.locator('.fl-path');
  await expect.poll(() => path.getByRole('button').count()).toBe(3);
  const name = tip.split('\n')[0] ?? '?';
  await expect.poll(() => page.locator('.tl-details h3').innerText()).toBe(name);
  await page.waitForFunction(() => /node=\d+/.test(location.hash));
  await page.reload();
  await page.waitForSelector('.fl-path');
  await expect.poll(() => page.locator('.tl-details h3').innerText()).toBe(name);
  await page.keyboard.press('Escape');
  await expect.poll(() => path.getByRole('button').count()).toBe(2);
  await path.getByRole('button', { name: 'all' }).click();
  await expect.poll(() => path.getByRole('button').count()).toBe(1);
  await done();
});

test('keys walk and zoom', async () => {
  const { page, done } = await openFlame();
  await page.locator('.fl canvas').focus();
  await page.keyboard.press('ArrowDown');
  const top = await page.locator('.tl-details h3').innerText();
  await page.keyboard.press('ArrowDown');
  const inner = await page.locator('.tl-details h3').innerText();
  expect(inner).not.toBe(top);
  await page.keyboard.press('ArrowUp');
  await expect.poll(() => page.locator('.tl-details h3').innerText()).toBe(top);
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => page.locator('.tl-details h3').innerText()).not.toBe(top);
  await page.keyboard.press('Enter');
  await expect.poll(() => page.locator('.fl-path').getByRole('button').count()).toBe(2);
  await done();
});

test('search says how much of the time it finds', async () => {
  const { page, done } = await openFlame();
  await page.keyboard.press('/');
  await page.keyboard.type('conv');
  await page.waitForFunction(() =>
    /\d+ matches, [\d.]+ % of the time/.test(
      document.querySelector('.tl-count')?.textContent ?? '',
    ),
  );
  await page.keyboard.press('Enter');
  await expect.poll(() => page.locator('.tl-details h3').innerText()).toMatch(/conv/i);
  await done();
});

test('widths by host or device time', async () => {
  const { page, done } = await openFlame();
  const first = () => page.locator('.tl-sums tbody tr').first().innerText();
  const host = await first();
  await page.getByRole('button', { name: 'device time' }).click();
  const device = await first();
  expect(device).not.toBe(host);
  expect(device).toMatch(/convolution/);
  await page.keyboard.press('h');
  expect(await first()).toBe(host);
  await done();
});

test('a tree that is not there says why', async () => {
  const { page, done } = await openFlame();
  await page.getByRole('button', { name: 'modules' }).click();
  expect(await page.innerText('main')).toMatch(/modules: not in this report.*with_stack=True/i);
  await done();
});
