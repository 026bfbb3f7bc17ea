// SPDX-License-Identifier: Apache-2.0
#include "report/markdown/markdown_words.h"

#include <algorithm>

#include "base/utf8.h"
#include "report/words/finding_words.h"

namespace hone::report {
namespace {

constexpr std::size_t kLongest = 300;  // columns

std::string OneLine(std::string_view text) {
  return ElideMiddle(Printable(text, true), kLongest, true);
}

std::size_t LongestRun(std::string_view text, char wanted) {
  std::size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c == wanted ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

// A table is split at its bars before anything in it is looked at, code too.
std::string Cell(const std::string& markdown) {
  std::string cell;
  bool escaped = false;  // by a backslash that is not itself escaped
  for (const char c : markdown) {
    if (c == '|' && !escaped) cell += '\\';
    cell += c;
    escaped = c == '\\' && !escaped;
  }
  return cell;
}

void WriteRow(const std::vector<std::string>& cells, std::ostream& out) {
  out << '|';
  for (const std::string& cell : cells) out << ' ' << Cell(cell) << (cell.empty() ? "|" : " |");
  out << '\n';
}

}  // namespace

std::string Markdown(std::string_view text) {
  constexpr std::string_view kEaten = "\\`*_[]<>|~#$";
  std::string safe;
  for (const char c : OneLine(text)) {
    if (c == '&') {
      safe += "&amp;";
    } else if (c == '@') {
      safe += "@\u200b";  // a name after it would be told that it was mentioned
    } else {
      if (kEaten.find(c) != std::string_view::npos) safe += '\\';
      safe += c;
    }
  }
  // A list, a heading or a rule only at the start of a line.
  if (!safe.empty() && (safe[0] == '-' || safe[0] == '+' || safe[0] == '='))
    safe.insert(0, 1, '\\');
  return safe;
}

std::string MarkdownCode(std::string_view text) {
  std::string code = OneLine(text);
  if (code.empty()) return "";
  const std::string fence(LongestRun(code, '`') + 1, '`');
  if (code.front() == '`' || code.back() == '`') code = " " + code + " ";
  return fence + code + fence;
}

void WriteMarkdownCode(std::string_view language, std::string_view code, std::ostream& out) {
  if (code.empty()) return;
  const std::string fence(std::max<std::size_t>(3, LongestRun(code, '`') + 1), '`');
  out << fence << language << '\n';
  for (const std::string& line : LinesOf(code)) {
    const std::size_t text = std::min(line.find_first_not_of(' '), line.size());
    out << line.substr(0, text) << OneLine(std::string_view(line).substr(text)) << '\n';
  }
  out << fence << '\n';
}

void WriteMarkdownTable(const std::vector<std::string>& heads, std::string_view aligns,
                        const std::vector<std::vector<std::string>>& rows, std::ostream& out) {
  WriteRow(heads, out);
  out << '|';
  for (const char align : aligns) out << (align == 'r' ? "---:|" : "---|");
  out << '\n';
  for (const std::vector<std::string>& row : rows) WriteRow(row, out);
}

}  // namespace hone::report
