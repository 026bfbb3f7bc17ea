// SPDX-License-Identifier: Apache-2.0
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { composePage, inlineSafe } from './one_file.js';

const html =
  '<html><head><script type="module" crossorigin src="./a.js"></script></head>' +
  '<body><!--hone:data--></body></html>';

describe('the one file', () => {
  it('holds nothing that ends its own script', () => {
    const page = composePage(html, 'const a="</script><!-- <script>";', '');
    expect(page.match(/<\/script/gi)).toHaveLength(1);
    expect(page.match(/<!--/g)).toHaveLength(1);
  });
  it('escapes to the same text', () =>
    expect(Function(`return ${inlineSafe('"</script><!--<script>"')}`)()).toBe(
      '</script><!--<script>',
    ));
  it('loads nothing and allows its own script by hash', () => {
    const page = composePage(html, 'a()', 'p{}');
    expect(page).not.toMatch(/\bsrc=|rel="stylesheet"/);
    const script = /<script type="module">([^]*)<\/script>/.exec(page)?.[1] ?? '';
    const hash = createHash('sha256').update(script).digest('base64');
    expect(page).toContain(`script-src 'sha256-${hash}'`);
    expect(page).toContain("default-src 'none'");
  });
  it('takes a script with $ signs as it is', () =>
    expect(composePage(html, "x('$&$1')", '')).toContain("x('$&$1')"));
  it('must have one place for the data', () =>
    expect(() => composePage(html.replace('<!--hone:data-->', ''), '', '')).toThrow(/0 times/));
});
