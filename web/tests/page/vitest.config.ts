// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from 'vitest/config';

// One browser after the other: the times that the tests print want the machine for themselves.
export default defineConfig({
  test: {
    include: ['tests/page/*.test.ts'],
    globalSetup: ['tests/page/make_pages.ts'],
    fileParallelism: false,
    isolate: false,
    testTimeout: 60_000,
    // The page answers a key or a click with its next frame, which a loaded machine draws late.
    expect: { poll: { timeout: 15_000 } },
    hookTimeout: 60_000,
  },
});
