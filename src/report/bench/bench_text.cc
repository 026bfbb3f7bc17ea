// SPDX-License-Identifier: Apache-2.0
#include "report/bench/bench_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/utf8.h"
#include "report/bench/bench_rows.h"
#include "report/bench/bench_words.h"

namespace hone::report {
namespace {

using bench::Benchmark;
using bench::Comparison;

constexpr std::size_t kLabel = 18;

Tone ToneOf(const Comparison& comparison) {
  if (!comparison.valid()) return Tone::kBad;
  switch (comparison.verdict()) {
    case stats::Verdict::kFaster: return Tone::kGood;
    case stats::Verdict::kSlower: return Tone::kBad;
    case stats::Verdict::kCannotTell: break;
  }
  return Tone::kWarn;
}

void WriteWrapped(std::string_view text, Tone tone, std::size_t indent, const Style& style,
                  std::ostream& out) {
  for (const std::string& line : WrapWords(style.Clean(text), style.width - indent)) {
    out << std::string(indent, ' ') << style.Paint(tone, line) << '\n';
  }
}

void WriteVerdict(const Benchmark& benchmark, const Comparison& comparison, const Style& style,
                  std::ostream& out) {
  out << style.Paint(ToneOf(comparison), VerdictLine(benchmark, comparison, style.dash())) << '\n';
  for (const std::string& reason : Reasons(benchmark, comparison)) {
    WriteWrapped(reason, Tone::kPlain, 2, style, out);
  }
}

// Where the ratios of the pairs lie: a mark a pair, below it the interval around the estimate.
//
//     B by pair   0.95                1.00                1.05
//                   .  :  .   :|. .
//                     |-----+-----|
void WriteStrip(const Benchmark& benchmark, const Comparison& comparison, const Style& style,
                std::ostream& out) {
  const stats::Judgement& judgement = comparison.judgement;
  if (comparison.ratios.size() < 3 || !judgement.known) return;
  double low = std::min(judgement.interval.low, 1.0), high = std::max(judgement.interval.high, 1.0);
  for (const double ratio : comparison.ratios) {
    low = std::min(low, ratio);
    high = std::max(high, ratio);
  }
  const std::size_t columns = std::min<std::size_t>(style.width - kLabel - 8, 60);
  const auto place = [&](double ratio) {
    return static_cast<std::size_t>(
        std::lround((ratio - low) / std::max(high - low, 1e-9) * static_cast<double>(columns - 1)));
  };
  std::vector<int> counts(columns, 0);
  for (const double ratio : comparison.ratios) ++counts[place(ratio)];
  std::string dots, bar;
  const std::size_t from = place(judgement.interval.low), to = place(judgement.interval.high),
                    middle = place(judgement.ratio), one = place(1);
  const char* const marks[2][4] = {{" ", ".", ":", "#"}, {" ", "·", ":", "⁝"}};
  for (std::size_t i = 0; i < columns; ++i) {
    const int count = std::min(counts[i], 3);
    dots += count == 0 && i == one ? (style.utf8 ? "┊" : "|") : marks[style.utf8 ? 1 : 0][count];
    if (i == middle) {
      bar += style.utf8 ? "┿" : "+";
    } else if (i < from || i > to) {
      bar += i == one ? (style.utf8 ? "┊" : "|") : " ";
    } else if (i == from || i == to) {
      bar += style.utf8 ? (i == from ? "├" : "┤") : "|";
    } else {
      bar += style.utf8 ? "─" : "-";
    }
  }
  const auto trimmed = [](const std::string& line) {
    return line.substr(0, line.find_last_not_of(' ') + 1);
  };
  const std::string label = fmt::format("{} by pair", benchmark.arms[comparison.arm].name);
  out << "  " << PadRight(label, kLabel) << "   " << trimmed(dots) << '\n';
  out << "  " << PadRight("", kLabel) << "   " << trimmed(bar) << '\n';
  const std::string left = RatioText(low), right = RatioText(high);
  out << "  " << PadRight("", kLabel) << "   "
      << style.Paint(Tone::kFaint, left + PadLeft(right, columns - left.size())) << '\n';
}

void WriteTable(const Benchmark& benchmark, const Style& style, std::ostream& out) {
  const std::vector<BenchRow> rows = BenchRows(benchmark);
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < benchmark.arms.size(); ++i) {
    std::size_t width = benchmark.arms[i].name.size();
    for (const BenchRow& row : rows) width = std::max(width, DisplayWidth(row.cells[i]));
    widths.push_back(width + 3);
  }
  out << std::string(2 + kLabel, ' ');
  for (std::size_t i = 0; i < widths.size(); ++i) {
    out << style.Paint(Tone::kStrong, PadLeft(benchmark.arms[i].name, widths[i]));
  }
  out << '\n';
  for (const BenchRow& row : rows) {
    std::string line = "  " + PadRight(ElideMiddle(row.label, kLabel, style.utf8), kLabel);
    for (std::size_t i = 0; i < widths.size(); ++i) line += PadLeft(row.cells[i], widths[i]);
    out << line;
    if (!row.note.empty() && DisplayWidth(line) + 3 + row.note.size() <= style.width) {
      out << "   " << style.Paint(Tone::kFaint, row.note);
    }
    out << '\n';
  }
}

// "label: text", wrapped under itself.
void WriteRemark(const std::string& remark, const Style& style, std::ostream& out) {
  const std::size_t colon = remark.find(": ");
  if (colon == std::string::npos || colon > kLabel) {
    WriteWrapped(remark, Tone::kPlain, 2, style, out);
    return;
  }
  WriteLabelled(remark.substr(0, colon), kLabel, style.Clean(remark.substr(colon + 2)), style, out);
}

void WriteCommands(const Benchmark& benchmark, const Style& style, std::ostream& out) {
  for (const bench::Arm& arm : benchmark.arms) {
    const std::string command = style.Clean(CommandText(arm));
    out << "  " << style.Paint(Tone::kStrong, arm.name) << "  "
        << ElideMiddle(command, style.width - 6, style.utf8) << '\n';
  }
}

}  // namespace

void WriteBenchText(const Benchmark& benchmark, const Style& style, std::ostream& out) {
  for (const Comparison& comparison : benchmark.comparisons) {
    WriteVerdict(benchmark, comparison, style, out);
  }
  if (!benchmark.comparisons.empty()) out << '\n';
  WriteCommands(benchmark, style, out);
  out << '\n';
  WriteTable(benchmark, style, out);
  if (!benchmark.comparisons.empty() && benchmark.comparisons[0].ratios.size() >= 3) out << '\n';
  for (const Comparison& comparison : benchmark.comparisons) {
    WriteStrip(benchmark, comparison, style, out);
  }
  const std::vector<std::string> remarks = Remarks(benchmark);
  if (!remarks.empty()) out << '\n';
  for (const std::string& remark : remarks) WriteRemark(remark, style, out);
}

}  // namespace hone::report
