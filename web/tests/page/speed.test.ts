// SPDX-License-Identifier: Apache-2.0
// How fast the page of a trace of 300,000 events is. Prints what it measured; the limits are those
// of docs/design/page.md, times four, because machines that test are busy.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { open, useBrowser } from './browser.js';

useBrowser();

const BUSY = 4;

test('first paint, opening of the rows, zoom', async () => {
  const { page, done } = await open('big');
  const paint = await page.evaluate(
    () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Infinity,
  );
  await page.getByRole('link', { name: 'Timeline' }).click();
  await page.waitForSelector('.tl-scroll canvas');
  await page.waitForTimeout(300);
  const steps = await page.evaluate(async () => {
    const canvas = document.querySelector<HTMLCanvasElement>('.tl-scroll canvas');
    if (!canvas) return [];
    const box = canvas.getBoundingClientRect();
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const times: number[] = [];
    for (let i = 0; i < 60; ++i) {
      await frame();
      const begun = performance.now();
      canvas.dispatchEvent(
        new WheelEvent('wheel', {
          deltaY: i % 40 < 20 ? -150 : 150,
          ctrlKey: true,
          clientX: box.left + 300 + ((i * 37) % (box.width - 320)),
          clientY: box.top + 300,
          bubbles: true,
          cancelable: true,
        }),
      );
      await frame();
      await new Promise((resolve) => setTimeout(resolve, 0));
      times.push(performance.now() - begun);
    }
    return times.sort((a, b) => a - b);
  });
  const at = (share: number) => steps[Math.floor(share * (steps.length - 1))] ?? Infinity;
  const size = statSync(join(inject('pages'), 'big.html')).size / 1e6;
  console.log(
    `page of a 70 MB trace: ${size.toFixed(1)} MB, first paint ${paint.toFixed(0)} ms, ` +
      `zoom step to drawn frame p50 ${at(0.5).toFixed(1)} ms, p95 ${at(0.95).toFixed(1)} ms`,
  );
  expect(size).toBeLessThan(25);
  expect(paint).toBeLessThan(1000 * BUSY);
  expect(at(0.5)).toBeLessThan(50 * BUSY);
  await page.keyboard.press('w');
  await page.waitForFunction(() => /t=\d+,\d+/.test(location.hash));
  await done();
});
