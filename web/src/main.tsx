// SPDX-License-Identifier: Apache-2.0
import { render } from 'preact';
import './style/theme.css';
import './style/base.css';
import './style/shell.css';
import './style/overview.css';
import './style/table.css';
import './style/charts.css';
import './style/print.css';
import { readReport } from './model/report.js';
import { App } from './views/app.js';
import { openRowsAfterPaint } from './widgets/rows_loader.js';

function start(root: HTMLElement) {
  try {
    const report = readReport();
    document.title = `${report.page?.title ?? report.trace.path} · hone`;
    render(<App report={report} />, root);
    openRowsAfterPaint(report);
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    render(<p class="fatal">hone: {what}</p>, root);
  }
}

const root = document.getElementById('app');
if (root) start(root);
