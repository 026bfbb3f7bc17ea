// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from 'vitest/config';
import { oneFile } from './build/one_file.js';

export default defineConfig({
  plugins: [oneFile()],
  build: {
    target: 'es2022',
    outDir: process.env['HONE_WEB_OUT'] ?? 'dist',
    emptyOutDir: false,
    cssTarget: ['chrome123', 'firefox128', 'safari17.5'],
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: 1_000_000,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2000,
    rollupOptions: { output: { codeSplitting: false } },
  },
  test: { include: ['src/**/*.test.ts', 'src/**/*.test.tsx', 'build/**/*.test.ts'] },
});
