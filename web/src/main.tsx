// SPDX-License-Identifier: Apache-2.0
import { render } from 'preact';
import './style/theme.css';
import { readReport } from './model/report.js';

const root = document.getElementById('app');
if (root) render(<p>{readReport().trace.path}</p>, root);
