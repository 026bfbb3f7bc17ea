// SPDX-License-Identifier: Apache-2.0
// Colours of the canvas, from the CSS variables of the page: a kind has a colour, names of a kind
// have neighbours of it. Nothing is told by colour alone: boxes carry names, gaps a hatch and words.
import { lookOf } from '../../model/shares.js';

export type Rgb = [red: number, green: number, blue: number];

const KIND_VARIABLES = [
  '--k-op',
  '--k-annotation',
  '--k-api',
  '--k-python',
  '--k-os',
  '--k-profiler',
  '--k-other',
  '--k-kernel',
  '--k-copy',
  '--k-set',
  '--k-comm',
  '--k-graph',
];
/** How far (degrees) names of a kind may stand from its colour; 0: the kind matters more. */
const KIND_SPREAD = [34, 12, 12, 30, 8, 0, 8, 72, 8, 8, 16, 20];

export const VARIANTS = 8;
/** Shades of a colour: full, thinner for marks that cover less, and faded for what a search leaves. */
export const SHADES = 4;
export const FADED = 3;
const SHADE_STRENGTH = [1, 0.72, 0.45, 0.22];

export interface Palette {
  background: string;
  raised: string;
  sunk: string;
  line: string;
  softLine: string;
  text: string;
  text2: string;
  text3: string;
  accent: string;
  accentSoft: string;
  compute: string;
  warn: string;
  /** By colour * SHADES + shade. */
  fills: string[];
  /** By colour: ink that can be read on it. */
  inks: string[];
  cause: (id: string) => string;
  /** A colour laid over the background. */
  faint: (color: string, strength: number) => string;
}

/** "#rgb", "#rrggbb" (a build shortens what can be), "rgb(…)". Grey for anything else. */
export function parseColor(text: string): Rgb {
  const hex = /^#([0-9a-f]+)$/i.exec(text.trim())?.[1];
  if (hex && (hex.length === 3 || hex.length === 4)) {
    const part = (i: number) => parseInt(hex.charAt(i), 16) * 17;
    return [part(0), part(1), part(2)];
  }
  if (hex && (hex.length === 6 || hex.length === 8)) {
    const part = (i: number) => parseInt(hex.slice(i, i + 2), 16);
    return [part(0), part(2), part(4)];
  }
  const parts = /^rgba?\(([^)]+)\)/.exec(text.trim());
  const [r, g, b] = parts ? parts[1]!.split(/[\s,/]+/).map(Number) : [128, 128, 128];
  return [r ?? 128, g ?? 128, b ?? 128];
}

function rgbText(color: Rgb): string {
  return `rgb(${color.map((part) => Math.round(Math.min(255, Math.max(0, part)))).join(' ')})`;
}

export function mix(color: Rgb, under: Rgb, strength: number): Rgb {
  const part = (i: 0 | 1 | 2) => color[i] * strength + under[i] * (1 - strength);
  return [part(0), part(1), part(2)];
}

/** Turns the hue by `degrees` and keeps how bright it looks (rotation about grey, as CSS does it). */
export function turnHue([r, g, b]: Rgb, degrees: number): Rgb {
  const angle = (degrees * Math.PI) / 180;
  const cos = Math.cos(angle);
  const sin = Math.sin(angle);
  return [
    r * (0.213 + cos * 0.787 - sin * 0.213) +
      g * (0.715 - cos * 0.715 - sin * 0.715) +
      b * (0.072 - cos * 0.072 + sin * 0.928),
    r * (0.213 - cos * 0.213 + sin * 0.143) +
      g * (0.715 + cos * 0.285 + sin * 0.14) +
      b * (0.072 - cos * 0.072 - sin * 0.283),
    r * (0.213 - cos * 0.213 - sin * 0.787) +
      g * (0.715 - cos * 0.715 + sin * 0.715) +
      b * (0.072 + cos * 0.928 + sin * 0.072),
  ];
}

/** Relative luminance, WCAG 2.1. */
export function luminance(color: Rgb): number {
  const [r, g, b] = color.map((part) => {
    const share = Math.min(255, Math.max(0, part)) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

export function contrast(a: Rgb, b: Rgb): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high! + 0.05) / (low! + 0.05);
}

const DARK_INK: Rgb = [10, 14, 18];
const LIGHT_INK: Rgb = [255, 255, 255];

export function colorIndex(kind: number, variant: number): number {
  return kind * VARIANTS + variant;
}

/** By string: its variant; the same name has the same colour in every page. */
export function variantsOf(strings: readonly string[]): Uint8Array {
  const variants = new Uint8Array(strings.length);
  strings.forEach((text, id) => {
    let hash = 2166136261;
    for (let i = 0; i < text.length; ++i) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
    hash ^= hash >>> 15;
    variants[id] = (Math.imul(hash, 0x2c1b3c6d) >>> 16) % VARIANTS;
  });
  return variants;
}

/** Reads the variables from the element; again when the theme changes. */
export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  // The canvas knows every way to write a colour and gives it back as "#rrggbb" or "rgba(…)".
  const scratch = document.createElement('canvas').getContext('2d');
  const read = (name: string) => {
    const value = style.getPropertyValue(name).trim() || '#808080';
    if (!scratch) return value;
    scratch.fillStyle = value;
    return scratch.fillStyle;
  };
  const background = parseColor(read('--bg'));
  const fills: string[] = [];
  const inks: string[] = [];
  KIND_VARIABLES.forEach((name, kind) => {
    const base = parseColor(read(name));
    for (let variant = 0; variant < VARIANTS; ++variant) {
      const place = variant / (VARIANTS - 1) - 0.5;
      const color = turnHue(base, place * 2 * KIND_SPREAD[kind]!);
      for (const strength of SHADE_STRENGTH) fills.push(rgbText(mix(color, background, strength)));
      const dark = contrast(color, DARK_INK) >= contrast(color, LIGHT_INK);
      inks.push(rgbText(dark ? DARK_INK : LIGHT_INK));
    }
  });
  return {
    background: rgbText(background),
    raised: read('--bg-raise'),
    sunk: read('--bg-sunk'),
    line: read('--line'),
    softLine: read('--line-soft'),
    text: read('--text'),
    text2: read('--text-2'),
    text3: read('--text-3'),
    accent: read('--accent'),
    accentSoft: rgbText(mix(parseColor(read('--accent')), background, 0.14)),
    compute: read('--c-compute'),
    warn: read('--warn'),
    fills,
    inks,
    cause: (id) => read(/--[\w-]+/.exec(lookOf(`idle:${id}`).color)?.[0] ?? '--c-other'),
    faint: (color, strength) => rgbText(mix(parseColor(color), background, strength)),
  };
}
