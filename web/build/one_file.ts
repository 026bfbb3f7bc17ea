// SPDX-License-Identifier: Apache-2.0
// Vite's output as one file: script and style stand inside the page, and the page may load nothing.
import { createHash } from 'node:crypto';
import type { Plugin } from 'vite';

const MARK = '<!--hone:data-->';

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}'`;
}

/** Escapes what would end an inline script, or open a comment in it. */
export function inlineSafe(script: string): string {
  return script
    .replace(/<\/(script)/gi, '<\\/$1')
    .replace(/<!--/g, '\\x3c!--')
    .replace(/<(script)/gi, '\\x3c$1');
}

/** The one rule for all: nothing is fetched, and only our own script and style run. */
export function policyOf(script: string, style: string): string {
  return [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

export function composePage(html: string, script: string, style: string): string {
  const code = `\n${inlineSafe(script).trim()}\n`;
  const css = `\n${style.trim()}\n`;
  const head =
    `<meta http-equiv="Content-Security-Policy" content="${policyOf(code, css)}" />\n` +
    `    <style>${css}</style>\n  </head>`;
  const body = `<script type="module">${code}</script>\n  </body>`;
  const page = html
    .replace(/\s*<script[^>]*\bsrc=[^>]*><\/script>/g, '')
    .replace(/\s*<link[^>]*rel="stylesheet"[^>]*>/g, '')
    .replace(/\s*<link[^>]*rel="modulepreload"[^>]*>/g, '')
    .replace('</head>', () => head)
    .replace('</body>', () => body);
  const marks = page.split(MARK).length - 1;
  if (marks !== 1) throw new Error(`page.html holds ${MARK} ${marks} times, expected once`);
  return page;
}

export function oneFile(): Plugin {
  return {
    name: 'hone-one-file',
    enforce: 'post',
    generateBundle(_options, bundle) {
      let html = '';
      let script = '';
      let style = '';
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === 'chunk') script += file.code;
        else if (name.endsWith('.css')) style += String(file.source);
        else if (name.endsWith('.html')) html = String(file.source);
        else throw new Error(`${name}: the page must be one file; import it inline`);
        Reflect.deleteProperty(bundle, name);
      }
      this.emitFile({
        type: 'asset',
        fileName: 'page.html',
        source: composePage(html, script, style),
      });
    },
  };
}
