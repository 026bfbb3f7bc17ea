// SPDX-License-Identifier: Apache-2.0
#include "report/text/table_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/utf8.h"
#include "report/words/gain_text.h"
#include "report/words/kernel_name.h"

namespace hone::report {
namespace {

constexpr std::size_t kGap = 2;         // columns between columns
constexpr std::size_t kLeastName = 26;  // the first text column keeps this much before others go
constexpr std::size_t kLeastText = 14;  // and other texts this much
constexpr int kWholeOrNot = 5;  // texts of this rank and above are shown whole or not at all
constexpr std::size_t kMostText = 200;  // and never asks for more than this

bool IsTextUnit(Unit unit) {
  return unit == Unit::kText || unit == Unit::kPath || unit == Unit::kKernel;
}

struct Shown {
  std::size_t column = 0;
  bool text = false, path = false;
  std::vector<std::string> cells;
  std::size_t natural = 0, least = 0, width = 0;
  std::vector<std::string> header;
};

double Magnitude(const Cell& cell, Unit unit) {
  if (const auto* number = cell.number()) return std::abs(*number);
  const auto* integer = cell.integer();
  if (integer == nullptr) return 0;
  const double scale = unit == Unit::kMillis ? 1e6 : unit == Unit::kMicros ? 1e3 : 1;
  return std::abs(static_cast<double>(*integer)) / scale;
}

// One number of decimals for the whole column, so that points line up.
int Decimals(const Table& table, std::size_t column) {
  const Unit unit = table.columns[column].unit;
  double largest = 0;
  for (const auto& row : table.rows) {
    const double size = Magnitude(row[column], unit);
    if (std::isfinite(size)) largest = std::max(largest, size);
  }
  return largest >= 1000 ? 1 : largest >= 10 ? 2 : 3;
}

std::string CellText(const Cell& cell, Unit unit, int decimals, const Style& style) {
  if (const auto* text = cell.text()) {
    return style.Clean(unit == Unit::kKernel ? ShortKernelName(*text) : std::string(*text));
  }
  if (const auto* flag = cell.flag()) return *flag ? "yes" : "no";
  if (const auto* number = cell.number()) {
    if (unit == Unit::kTimes) return SpeedupText(*number);
    return unit == Unit::kShare ? Percent(*number) : Fixed(*number, decimals);
  }
  const auto* integer = cell.integer();
  if (integer == nullptr) return "-";
  switch (unit) {
    case Unit::kMillis: return Fixed(ToMillis(*integer), decimals);
    case Unit::kMicros: return Fixed(ToMicros(*integer), decimals);
    case Unit::kBytes: return HumanBytes(static_cast<double>(*integer));
    default: return WithThousands(*integer);
  }
}

bool HasValue(const Table& table, std::size_t column) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [&](const auto& row) { return !row[column].absent(); });
}

Shown Measure(const Table& table, std::size_t column, const Style& style, bool raw) {
  const Column& about = table.columns[column];
  Shown shown;
  shown.column = column;
  shown.text = IsTextUnit(about.unit);
  shown.path = about.unit == Unit::kPath;
  const int decimals = shown.text ? 0 : Decimals(table, column);
  std::size_t widest = 0;
  for (const auto& row : table.rows) {
    shown.cells.push_back(CellText(row[column], about.unit, decimals, style));
    widest = std::max(widest, DisplayWidth(shown.cells.back()));
  }
  std::string words = raw ? style.Clean(about.id) : about.id;
  if (!raw) std::replace(words.begin(), words.end(), '_', ' ');
  std::size_t longest = 0;
  for (const std::string& word : WrapWords(words, 1))
    longest = std::max(longest, DisplayWidth(word));
  shown.natural = std::max(widest, longest);
  const std::size_t least = column == 0 ? kLeastName : kLeastText;
  const bool shrinks = shown.text && about.rank < kWholeOrNot;
  shown.least = shrinks ? std::min(std::max(longest, least), shown.natural) : shown.natural;
  shown.natural = std::min(shown.natural, kMostText);
  shown.header.push_back(std::move(words));
  return shown;
}

std::size_t LeastWidth(const std::vector<Shown>& columns) {
  std::size_t width = 0;
  for (const Shown& column : columns) width += column.least + kGap;
  return width - (columns.empty() ? 0 : kGap);
}

// Drops columns of the highest rank until the rest fits; returns the names of the dropped.
std::vector<std::string> Fit(const Table& table, std::vector<Shown>& columns, std::size_t width) {
  std::vector<std::string> dropped;
  while (columns.size() > 1 && LeastWidth(columns) > width) {
    const auto worst =
        std::max_element(columns.begin(), columns.end(), [&](const Shown& a, const Shown& b) {
          return table.columns[a.column].rank <= table.columns[b.column].rank;
        });
    if (table.columns[worst->column].rank == 0) break;
    dropped.push_back(table.columns[worst->column].id);
    columns.erase(worst);
  }
  // Only columns that must stay are left: squeeze the texts.
  while (LeastWidth(columns) > width) {
    const auto widest =
        std::max_element(columns.begin(), columns.end(), [](const Shown& a, const Shown& b) {
          return (a.text ? a.least : 0) < (b.text ? b.least : 0);
        });
    if (widest == columns.end() || !widest->text || widest->least <= 4) break;
    --widest->least;
  }
  return dropped;
}

// Shares the columns that are left over among the texts that want them, narrow wishes first.
void Widen(std::vector<Shown>& columns, std::size_t width) {
  for (Shown& column : columns) column.width = column.least;
  std::size_t used = LeastWidth(columns);
  for (bool grown = true; grown && used < width;) {
    grown = false;
    for (Shown& column : columns) {
      if (!column.text || column.width >= column.natural || used >= width) continue;
      ++column.width;
      ++used;
      grown = true;
    }
  }
}

std::size_t TotalWidth(const std::vector<Shown>& columns) {
  std::size_t width = 0;
  for (const Shown& column : columns) width += column.width + kGap;
  return width - kGap;
}

std::string Fitted(const Shown& column, std::string_view text, bool last, const Style& style) {
  if (!column.text) return PadLeft(text, column.width);
  const std::string fitted = column.path ? ElideStart(text, column.width, style.utf8)
                                         : ElideMiddle(text, column.width, style.utf8);
  return last ? fitted : PadRight(fitted, column.width);
}

void WriteHeader(std::vector<Shown>& columns, std::size_t indent, const Style& style,
                 std::ostream& out) {
  std::size_t height = 0;
  for (Shown& column : columns) {
    column.header = WrapWords(column.header[0], column.width);
    height = std::max(height, column.header.size());
  }
  for (std::size_t line = 0; line < height; ++line) {
    std::string text;
    for (const Shown& column : columns) {
      const std::size_t above = height - column.header.size();
      const std::string word = line < above ? "" : column.header[line - above];
      text += (column.text ? PadRight(word, column.width) : PadLeft(word, column.width));
      text += std::string(kGap, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out << std::string(indent, ' ') << style.Paint(Tone::kFaint, text) << '\n';
  }
}

}  // namespace

void WriteTable(const Table& table, const Style& style, const TableTextOptions& options,
                std::ostream& out) {
  std::vector<Shown> columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].rank >= kDataOnly) continue;
    if (i == 0 || options.raw || HasValue(table, i)) {
      columns.push_back(Measure(table, i, style, options.raw));
    }
  }
  const std::size_t width = style.width - std::min(style.width, options.indent);
  std::vector<std::string> dropped = Fit(table, columns, width);
  Widen(columns, width);
  if (options.fill) {
    const auto text = std::find_if(columns.begin(), columns.end(),
                                   [](const Shown& column) { return column.text; });
    if (text != columns.end()) text->width += width - std::min(width, TotalWidth(columns));
  }
  WriteHeader(columns, options.indent, style, out);
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const bool last = i + 1 == columns.size();
      line += Fitted(columns[i], columns[i].cells[row], last, style);
      if (!last) line += std::string(kGap, ' ');
    }
    out << std::string(options.indent, ' ') << line << '\n';
  }
  if (!options.notes) return;
  std::string note;
  if (table.left_out > 0) {
    note = fmt::format("{} {} ({})", style.more(), Count(table.left_out, "more row"),
                       options.all_rows);
  }
  if (!dropped.empty()) {
    note += fmt::format("{}not shown: {} ({})", note.empty() ? "" : "; ", fmt::join(dropped, ", "),
                        options.all_columns);
  }
  if (note.empty()) return;
  for (const std::string& line : WrapWords(note, width)) {
    out << std::string(options.indent, ' ') << style.Paint(Tone::kFaint, line) << '\n';
  }
}

}  // namespace hone::report
