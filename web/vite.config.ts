// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from 'vitest/config';
import { oneFile } from './build/one_file.js';
import { STYLES, SYNTAX } from './src/model/browsers.js';

export default defineConfig({
  plugins: [oneFile()],
  build: {
    target: SYNTAX,
    outDir: process.env['HONE_WEB_OUT'] ?? 'dist',
    emptyOutDir: false,
    cssTarget: STYLES,
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: 1_000_000,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2000,
    rollupOptions: { output: { codeSplitting: false } },
  },
  test: { include: ['src/**/*.test.ts', 'src/**/*.test.tsx', 'build/**/*.test.ts'] },
});
