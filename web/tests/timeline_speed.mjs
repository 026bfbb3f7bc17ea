// SPDX-License-Identifier: Apache-2.0
/* global document, requestAnimationFrame, MessageChannel, performance, WheelEvent -- in the browser */
// How long a zoom step of the timeline takes, from the event to the drawn frame, in a headless Chromium:
//   node tests/timeline_speed.mjs [rows | page=NAME ...]      (pages: of $HONE_PAGES; SCALE=2 for fine screens)
// "script" is the time of our own code; "drawn" ends in the task after the frame that drew it, so it holds
// the wait for that frame (up to 16.7 ms); "pixels" is our own code until the pixels can be read back.
import { openHarness } from './timeline_server.mjs';

const queries = process.argv.slice(2).map((word) => (/^\d+$/.test(word) ? `rows=${word}` : word));
const harness = await openHarness();
const rank = (values, share) =>
  [...values].sort((a, b) => a - b)[Math.floor(share * (values.length - 1))];

for (const query of queries.length > 0 ? queries : ['rows=300000', 'rows=1000000']) {
  const page = await harness.browser.newPage({
    viewport: { width: 1600, height: 900 },
    deviceScaleFactor: Number(process.env.SCALE ?? 1),
  });
  page.on('console', (message) => {
    if (message.text().startsWith('rows')) console.log(`${query}: ${message.text()}`);
  });
  page.on('pageerror', (error) => console.error(error.message));
  await page.goto(harness.url(query));
  await page.waitForSelector('.tl-scroll canvas', { timeout: 120_000 });
  await page.waitForTimeout(1000);
  const times = await page.evaluate(async () => {
    const canvas = document.querySelector('.tl-scroll canvas');
    const box = canvas.getBoundingClientRect();
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const task = () =>
      new Promise((resolve) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = resolve;
        port2.postMessage(0);
      });
    const drawn = [];
    const script = [];
    const pixels = [];
    for (let i = 0; i < 160; ++i) {
      // In to the microseconds and out again, three times, each time at another place.
      const inwards = i % 54 < 27;
      const x = box.left + 200 + ((i * 37) % (box.width - 220));
      await frame();
      const begun = performance.now();
      canvas.dispatchEvent(
        new WheelEvent('wheel', {
          deltaY: inwards ? -150 : 150,
          ctrlKey: true,
          clientX: x,
          clientY: box.top + 300,
          bubbles: true,
          cancelable: true,
        }),
      );
      const handled = performance.now();
      await frame();
      await task();
      const own = Number(canvas.dataset.ms) + (handled - begun);
      script.push(own);
      drawn.push(performance.now() - begun);
      if (i % 4 === 0) {
        const reading = performance.now();
        canvas.getContext('2d').getImageData(300, 300, 1, 1);
        pixels.push(own + performance.now() - reading);
      }
    }
    return { script, pixels, drawn };
  });
  for (const [what, values] of Object.entries(times)) {
    console.log(
      `${query}, zoom step, ${what}: p50 ${rank(values, 0.5).toFixed(1)} ms, ` +
        `p95 ${rank(values, 0.95).toFixed(1)} ms, max ${Math.max(...values).toFixed(1)} ms`,
    );
  }
  await page.close();
}
await harness.close();
