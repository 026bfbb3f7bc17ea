// SPDX-License-Identifier: Apache-2.0
#include "report/html/static_page.h"

#include "report/html/xml_text.h"

namespace hone::report {
namespace {

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; --ink: #1c2024; --faint: #60666d; --line: #d9dde1; --page: #fff;
  --good: #15803d; --bad: #b91c1c; --warn: #a16207; --bar: #2f6fb3; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --faint: #9aa1a8; --line: #343a40;
  --page: #15181b; --good: #4ade80; --bad: #f87171; --warn: #facc15; --bar: #7db4ee; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.9rem; margin: 0 0 .2rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
p { margin: .2rem 0; } .faint, small { color: var(--faint); }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .25rem .5rem; border-bottom: 1px solid var(--line);
  vertical-align: top; white-space: nowrap; }
@media (min-width: 40rem) { th:not(:first-child) { width: 6rem; } }
th:first-child, td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; }
.words th, .words td { width: auto; overflow-wrap: normal; }
.words th:last-child, .words td:last-child { text-align: left; white-space: normal; }
tr.sum td { font-weight: 600; border-top: 2px solid var(--line); }
code { font: .85em ui-monospace, monospace; color: var(--faint); overflow-wrap: anywhere; }
pre { background: #8882; padding: .6rem; overflow-x: auto; }
pre code { color: inherit; overflow-wrap: normal; }
svg { max-width: 100%; height: auto; display: block; } svg.bars { width: 100%; }
.bars text { font: 13px system-ui, sans-serif; }
.key { display: inline-block; width: .75rem; height: .75rem; margin-right: .4rem; }
.bar { height: .9em; min-width: 1px; background: var(--bar); } .scroll { overflow-x: auto; }
summary { cursor: pointer; font-size: 1.1rem; font-weight: 600; margin: 2rem 0 .4rem; }
@media print { details { display: block; } body { margin: 0; } }
</style>
)";

}  // namespace

void BeginPage(std::string_view title, std::ostream& out) {
  out << kHead << "<title>" << XmlText(title) << "</title>\n</head>\n<body>\n";
}

void EndPage(std::ostream& out) { out << "</body>\n</html>\n"; }

void WriteParagraph(std::string_view text, std::string_view css, std::ostream& out) {
  out << "<p";
  if (!css.empty()) out << " class=\"" << css << '"';
  out << '>' << XmlText(text) << "</p>\n";
}

}  // namespace hone::report
