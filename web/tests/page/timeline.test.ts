// SPDX-License-Identifier: Apache-2.0
// The timeline as somebody uses it: keys, wheel, search, picks, spans, lanes, links.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, inject, test } from 'vitest';
import { open, useBrowser } from './browser.js';

useBrowser();

async function openTimeline(hash = '', viewport = { width: 1600, height: 1000 }) {
  const opened = await open('resnet', `#tab=timeline${hash}`, { viewport });
  await opened.page.waitForSelector('.tl-sums tbody tr');
  return opened;
}

/** What is in view, in ns, once the link says so. */
async function windowOf(page: Page): Promise<[number, number]> {
  await page.waitForTimeout(500);
  const found = /t=(\d+),(\d+)/.exec(await page.evaluate(() => location.hash));
  return found ? [Number(found[1]), Number(found[2])] : [0, Infinity];
}

const details = (page: Page) => page.locator('.tl-details').innerText();

test('w, a, s, d, 0 zoom and move, and the link follows', async () => {
  const { page, done } = await openTimeline();
  await page.keyboard.press('w');
  const first = await windowOf(page);
  expect(first[0]).toBeGreaterThan(0);
  await page.keyboard.press('w');
  const closer = await windowOf(page);
  expect((closer[1] - closer[0]) / (first[1] - first[0])).toBeCloseTo(0.8, 2);
  await page.keyboard.press('d');
  const right = await windowOf(page);
  expect(right[0]).toBeGreaterThan(closer[0]);
  expect(right[1] - right[0]).toBeCloseTo(closer[1] - closer[0], -2);
  await page.keyboard.press('a');
  expect((await windowOf(page))[0]).toBeCloseTo(closer[0], -2);
  await page.keyboard.press('s');
  expect((await windowOf(page))[1]).toBeGreaterThan(closer[1]);
  await page.keyboard.press('0');
  expect((await windowOf(page))[1]).toBe(Infinity);
  await page.keyboard.down('w');
  await page.waitForTimeout(700);
  await page.keyboard.up('w');
  const held = await windowOf(page);
  expect(held[1] - held[0]).toBeLessThan((first[1] - first[0]) / 2);
  await done();
});

test('ctrl and wheel zoom at the pointer, a drag moves', async () => {
  const { page, done } = await openTimeline();
  const box = await page.locator('.tl-scroll canvas').boundingBox();
  if (!box) throw new Error('no canvas');
  await page.mouse.move(box.x + 600, box.y + 300);
  await page.keyboard.down('Control');
  for (let i = 0; i < 8; ++i) await page.mouse.wheel(0, -100);
  await page.keyboard.up('Control');
  const zoomed = await windowOf(page);
  expect(zoomed[1]).toBeLessThan(783_489_371);
  await page.mouse.down();
  await page.mouse.move(box.x + 400, box.y + 300, { steps: 5 });
  await page.mouse.up();
  const moved = await windowOf(page);
  const perPixel = (zoomed[1] - zoomed[0]) / (box.width - 212);
  expect((moved[0] - zoomed[0]) / perPixel).toBeCloseTo(200, -1);
  await done();
});

test('search counts, n and N walk, Esc drops', async () => {
  const { page, done } = await openTimeline();
  await page.keyboard.press('/');
  await page.keyboard.type('optimizer.step#');
  const count = page.locator('.tl-count');
  await page.waitForFunction(() =>
    document.querySelector('.tl-count')?.textContent.includes('4 matches'),
  );
  await page.keyboard.press('Enter');
  await page.locator('.tl-scroll canvas').focus();
  await expect.poll(() => count.innerText()).toBe('1 of 4 matches');
  await expect.poll(() => details(page)).toContain('Optimizer.step#');
  await page.keyboard.press('n');
  await expect.poll(() => count.innerText()).toBe('2 of 4 matches');
  await page.keyboard.press('Shift+N');
  await page.keyboard.press('Shift+N');
  await expect.poll(() => count.innerText()).toBe('4 of 4 matches');
  await page.waitForFunction(() => location.hash.includes('q=optimizer'));
  await page.keyboard.press('Escape');
  await expect.poll(() => page.locator('.tl-details').count()).toBe(0);
  await page.keyboard.press('Escape');
  expect(await page.getByRole('searchbox').first().inputValue()).toBe('');
  await done();
});

test('a search may be a regular expression, and says when it is none', async () => {
  const { page, done } = await openTimeline();
  const box = page.getByRole('searchbox').first();
  const count = page.locator('.tl-count');
  await box.fill('/^ProfilerStep#[23]$/');
  await page.waitForFunction(
    () => document.querySelector('.tl-count')?.textContent === '2 matches',
  );
  await box.fill('/(/');
  await page.waitForTimeout(100);
  await expect.poll(() => count.innerText()).toMatch(/unterminated group/i);
  await box.fill('no such name');
  await page.waitForFunction(() => document.querySelector('.tl-count')?.textContent === 'no match');
  await done();
});

test('a kernel leads to its call and operator, the operator to its kernels', async () => {
  const { page, done } = await openTimeline('&q=wgrad_alg0_engine');
  await page.keyboard.press('n');
  const kernel = await details(page);
  expect(kernel).toMatch(/kind\s+kernel/);
  expect(kernel).toMatch(/lane\s+GPU 0 · stream 7/);
  expect(kernel).toMatch(/step\s+ProfilerStep#2/);
  expect(kernel).toMatch(/launch\s+grid/);
  expect(kernel).toMatch(/launched by\s+cudaLaunchKernel/);
  expect(kernel).toMatch(/operator\s+aten::convolution_backward/);
  await page
    .locator('.tl-details')
    .getByRole('button', { name: /aten::convolution_backward/ })
    .click();
  const operator = await details(page);
  expect(operator).toMatch(/kind\s+operator/);
  expect(operator).toMatch(/launched\s+\d+ on the device/);
  const said = await page.locator('#tl-picked').textContent();
  expect(said).toContain('aten::convolution_backward');
  await done();
});

test('a backward operator leads to its forward one, and back', async () => {
  const { page, done } = await openTimeline('&q=evaluate_function: NllLossBackward0');
  await page.keyboard.press('n');
  await expect.poll(() => details(page)).toMatch(/forward operator\s+aten::nll_loss_forward/);
  await page
    .locator('.tl-details')
    .getByRole('button', { name: /nll_loss_forward/ })
    .click();
  await expect.poll(() => details(page)).toMatch(/backward operator\s+.*NllLossBackward0/);
  await done();
});

test('arrows are drawn for what is picked', async () => {
  const { page, done } = await openTimeline('&q=wgrad_alg0_engine');
  await page.keyboard.press('n');
  await page.keyboard.press('f');
  for (let i = 0; i < 6; ++i) await page.keyboard.press('s');
  const box = await page.locator('.tl-scroll canvas').boundingBox();
  if (!box) throw new Error('no canvas');
  // The kernel stands in the first lane; in those of the threads only an arrow can appear.
  const threads = { x: box.x + 200, y: box.y + 200, width: box.width - 220, height: 300 };
  await page.waitForTimeout(300);
  const picked = await page.screenshot({ clip: threads });
  await page.keyboard.press('Escape');
  await page.waitForTimeout(300);
  const dropped = await page.screenshot({ clip: threads });
  expect(picked.equals(dropped)).toBe(false);
  await page.waitForTimeout(300);
  expect((await page.screenshot({ clip: threads })).equals(dropped)).toBe(true);
  await done();
});

test('arrow keys walk along a level, out and in', async () => {
  const { page, done } = await openTimeline('&q=/^ProfilerStep/');
  await page.keyboard.press('n');
  await page.locator('.tl-scroll canvas').focus();
  await expect.poll(() => details(page)).toContain('ProfilerStep#2');
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => details(page)).toContain('ProfilerStep#3');
  await page.keyboard.press('ArrowDown');
  await expect.poll(() => details(page)).toContain('enumerate(DataLoader)');
  await page.keyboard.press('ArrowUp');
  await expect.poll(() => details(page)).toContain('ProfilerStep#3');
  await page.keyboard.press('f');
  const fitted = await windowOf(page);
  expect(fitted[0]).toBeLessThan(197_772_373);
  expect(fitted[0]).toBeGreaterThan(120_000_000);
  await done();
});

test('a marked span is summed by name', async () => {
  const { page, done } = await openTimeline('&q=/^ProfilerStep.3$/');
  await page.keyboard.press('n');
  await page.keyboard.press('m');
  const sums = page.locator('.tl-sums');
  await expect.poll(() => sums.locator('h3').innerText()).toMatch(/Marked span\s+200\.3 ms/);
  await sums.getByRole('button', { name: 'all', exact: true }).click();
  const step = sums.locator('tr', { hasText: 'ProfilerStep#3' });
  expect(await step.locator('td').allInnerTexts()).toEqual([
    'ProfilerStep#3',
    '1',
    '200.3 ms',
    '200.3 ms',
  ]);
  await page.keyboard.press('Escape');
  await expect.poll(() => sums.locator('h3').innerText()).toContain('In view');
  const box = await page.locator('.tl-scroll canvas').boundingBox();
  if (!box) throw new Error('no canvas');
  await page.keyboard.down('Shift');
  await page.mouse.move(box.x + 400, box.y + 200);
  await page.mouse.down();
  await page.mouse.move(box.x + 700, box.y + 250, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await expect.poll(() => sums.locator('h3').innerText()).toContain('Marked span');
  await page.keyboard.press('0');
  await page.waitForTimeout(100);
  // The second step, in the line of the steps.
  await page.mouse.click(box.x + 212 + (box.width - 212) * 0.4, box.y + 32);
  await expect.poll(() => sums.locator('h3').innerText()).toMatch(/Marked span\s+200\.3 ms/);
  await done();
});

test('gaps are named, and lead to what explains them', async () => {
  const { page, done } = await openTimeline();
  const legend = page.locator('.tl-legend');
  await expect.poll(() => legend.innerText()).toMatch(/GPU 0 idle.*waiting for data\s+321\.\d ms/s);
  await legend.getByRole('button', { name: /waiting for data/ }).click();
  await expect.poll(() => details(page)).toContain('GPU 0 idle: waiting for data');
  await expect.poll(() => details(page)).toMatch(/duration\s+11\d\.\d ms/);
  await page.locator('.tl-details .tl-row').first().click();
  await expect.poll(() => details(page)).toContain('lane');
  await page.keyboard.press('0');
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await expect.poll(() => details(page)).toContain('GPU 0 idle:');
  await done();
});

test('lanes are closed, hidden and found by name', async () => {
  const { page, done } = await openTimeline();
  await page.locator('.tl-lanes summary').click();
  await page.getByRole('searchbox', { name: /show only lanes/ }).fill('stream');
  await expect.poll(() => page.locator('.tl-lanes summary').innerText()).toMatch(/4 of 7 lanes/);
  await page.getByRole('button', { name: 'show all' }).click();
  await page.getByRole('checkbox', { name: /stream 30/ }).uncheck();
  await expect.poll(() => page.locator('.tl-lanes summary').innerText()).toMatch(/6 of 7 lanes/);
  const tall = () => page.locator('.tl-scroll > div').evaluate((div) => div.clientHeight);
  await page.setViewportSize({ width: 1600, height: 480 });
  await page.waitForTimeout(200);
  const before = await tall();
  await page.getByRole('button', { name: 'close all' }).click();
  expect(await tall()).toBeLessThan(before);
  await done();
});

test('a link brings back window, pick and search', async () => {
  const { page, done } = await openTimeline('&t=310000000,410000000&row=0&q=cuda');
  await expect.poll(() => details(page)).toContain('ProfilerStep#2');
  expect(await page.getByRole('searchbox').first().inputValue()).toBe('cuda');
  await expect.poll(() => page.locator('.tl-sums h3').innerText()).toContain('100.0 ms from 310.0');
  await done();
});

test('the places of a finding are shown one after the other', async () => {
  const { page, done } = await openTimeline('&finding=0');
  const bar = page.locator('.tl-places');
  await expect.poll(() => bar.innerText()).toMatch(/place 1 of \d/);
  const first = await windowOf(page);
  await bar.getByRole('button', { name: 'next place' }).click();
  await expect.poll(() => bar.innerText()).toMatch(/place 2 of \d/);
  expect((await windowOf(page))[0]).toBeGreaterThan(first[0]);
  await bar.getByRole('button', { name: /back to the finding/ }).click();
  await page.getByText('What to do').waitFor();
  await done();
});

test('a click picks, the pointer shows what it is over', async () => {
  const { page, done } = await openTimeline('&q=/^ProfilerStep.4$/');
  await page.keyboard.press('n');
  await page.keyboard.press('f');
  await page.waitForTimeout(200);
  await page.keyboard.press('Escape');
  const box = await page.locator('.tl-scroll canvas').boundingBox();
  if (!box) throw new Error('no canvas');
  // The thread stands under four streams of one level each.
  const y = box.y + 63 + 4 * 26 + 12;
  await page.mouse.move(box.x + 800, y);
  await expect.poll(() => page.locator('.tl-tip').innerText()).toContain('ProfilerStep#4');
  await page.mouse.click(box.x + 800, y);
  await expect.poll(() => details(page)).toContain('ProfilerStep#4');
  await done();
});

test('two fingers zoom', async () => {
  const { page, done } = await openTimeline();
  await page.locator('.tl-scroll canvas').evaluate((canvas) => {
    const box = canvas.getBoundingClientRect();
    canvas.setPointerCapture = () => undefined;
    const send = (type: string, pointerId: number, x: number) =>
      canvas.dispatchEvent(
        new PointerEvent(type, {
          pointerId,
          pointerType: 'touch',
          clientX: box.left + x,
          clientY: box.top + 300,
          button: 0,
          bubbles: true,
        }),
      );
    send('pointerdown', 1, 600);
    send('pointerdown', 2, 700);
    for (let i = 0; i < 10; ++i) {
      send('pointermove', 1, 600 - 20 * i);
      send('pointermove', 2, 700 + 20 * i);
    }
    send('pointerup', 1, 420);
    send('pointerup', 2, 880);
  });
  const [start, end] = await windowOf(page);
  expect(end - start).toBeLessThan(783_489_371 / 3);
  await done();
});

test('rows that cannot be read are said in words', async () => {
  const whole = readFileSync(join(inject('pages'), 'resnet.html'), 'utf8');
  const at = whole.indexOf('>', whole.indexOf('id="hone-rows"')) + 5000;
  const broken = `${whole.slice(0, at)}!${whole.slice(at + 1)}`;
  writeFileSync(join(inject('pages'), 'broken.html'), broken);
  const { page, done } = await open('broken', '#tab=timeline');
  await page.locator('main', { hasText: /of the rows is not base64/ }).waitFor();
  expect(await page.innerText('main')).toContain('hone analyze TRACE --html');
  await done();
});
