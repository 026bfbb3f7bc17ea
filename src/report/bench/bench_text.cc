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
  for (const std::string& trouble : comparison.trouble) {
    WriteWrapped(trouble, Tone::kPlain, 2, style, out);
  }
  for (const bench::Difference& difference : comparison.work.differences) {
    if (difference.allowed) continue;
    WriteWrapped(difference.sentence, Tone::kPlain, 2, style, out);
    if (!difference.allow.empty()) {
      WriteWrapped(fmt::format("meant so? --allow {}", difference.allow), Tone::kFaint, 4, style,
                   out);
    }
  }
  const std::string why = WhyNot(benchmark, comparison);
  if (!why.empty()) WriteWrapped(why, Tone::kPlain, 2, style, out);
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
  out << '\n';
  WriteCommands(benchmark, style, out);
  out << '\n';
  WriteTable(benchmark, style, out);
}

}  // namespace hone::report
