// SPDX-License-Identifier: Apache-2.0
import type { FlameProps, KeyHelp } from './contract.js';

export const KEYS: KeyHelp[] = [];

export function Flame({ tree }: FlameProps) {
  return <p>{tree.name.length} nodes</p>;
}
