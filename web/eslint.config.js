// SPDX-License-Identifier: Apache-2.0
import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

// Names in a trace are whatever a program says they are: they become text nodes, never HTML.
const noHtml = [
  'innerHTML',
  'outerHTML',
  'insertAdjacentHTML',
  'dangerouslySetInnerHTML',
  'srcdoc',
  'createContextualFragment',
];

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**'] },
  eslint.configs.recommended,
  ...tseslint.configs.strict,
  {
    rules: {
      'no-restricted-syntax': [
        'error',
        ...noHtml.flatMap((name) => [
          { selector: `Identifier[name='${name}']`, message: `${name}: build text nodes instead` },
          {
            selector: `JSXIdentifier[name='${name}']`,
            message: `${name}: build text nodes instead`,
          },
          { selector: `Literal[value='${name}']`, message: `${name}: build text nodes instead` },
        ]),
        {
          selector: "CallExpression[callee.object.name='document'][callee.property.name=/^write/]",
          message: 'build text nodes instead',
        },
      ],
      'no-eval': 'error',
      'no-implied-eval': 'error',
      // Typed arrays are read by index in bounds that the loop gives.
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/consistent-type-imports': 'error',
    },
  },
  {
    files: ['**/*.mjs', 'eslint.config.js'],
    languageOptions: { globals: { process: 'readonly', console: 'readonly', URL: 'readonly' } },
  },
  { files: ['eslint.config.js'], rules: { 'no-restricted-syntax': 'off' } },
);
