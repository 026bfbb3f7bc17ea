// SPDX-License-Identifier: Apache-2.0
// The oldest browsers in which the whole page works: Chrome and its kin lay it out from 87 on
// (`inset`), Firefox and Safari unpack the rows (DecompressionStream) from these on. The language is
// older than all three: who comes with less reads the figures, and why there is no timeline.
export const BROWSERS = 'Chrome 87, Firefox 113, Safari 16.4';
export const STYLES = ['chrome87', 'firefox113', 'safari16.4'];
/** Chrome 80, Firefox 74, Safari 14; tsconfig.json allows no newer functions either. */
export const SYNTAX = 'es2020';
