// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { Linter } from 'eslint';
import { expect, it } from 'vitest';
import { BROWSERS, STYLES, SYNTAX } from '../src/model/browsers.js';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
const problems = (script: string) =>
  new Linter().verify(script, {
    languageOptions: { ecmaVersion: Number(SYNTAX.slice(2)) as 2020, sourceType: 'module' },
  });

it('is built for the browsers that it names', () =>
  expect(
    BROWSERS.toLowerCase()
      .replace(/ (?=[0-9])/g, '')
      .split(', '),
  ).toEqual(STYLES));
it('says in the manual which browsers it needs', () =>
  expect(read('../../docs/user/report.md').replace(/\s+/g, ' ')).toContain(
    `(${BROWSERS} and later)`,
  ));
it('is in the language of older browsers, so that it can say what they lack', () => {
  const script =
    /<script type="module">([^]*)<\/script>/.exec(read('../dist/page.html'))?.[1] ?? '';
  expect(script.length).toBeGreaterThan(1000);
  expect(problems(script)).toEqual([]);
  expect(problems('let a; a ??= 1')).not.toEqual([]);
  expect(script).not.toMatch(/\.(replaceAll|toSorted|toReversed|findLast|hasOwn|at\(-)/);
}, 60_000);
