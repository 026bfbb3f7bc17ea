// SPDX-License-Identifier: Apache-2.0
import type { KeyHelp, TimelineProps } from './contract.js';

export const KEYS: KeyHelp[] = [];

export function Timeline({ rows }: TimelineProps) {
  return <p>{rows.count} rows</p>;
}
