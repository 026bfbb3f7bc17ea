// SPDX-License-Identifier: Apache-2.0
#include "report/bench/bench_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/bench/bench_rows.h"
#include "report/bench/bench_words.h"
#include "report/html/xml_text.h"
#include "stats/quantile.h"

namespace hone::report {
namespace {

using bench::Benchmark;
using bench::Comparison;

constexpr double kWidth = 760, kLeft = 60, kRight = 40, kStrip = 46, kPair = 11;
// Okabe and Ito's colours, told apart by everybody.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"};

// From numbers to places on the picture, with some air on both sides.
struct Scale {
  Scale(double low, double high) {
    const double air = std::max((high - low) * 0.08, std::abs(high) * 0.005);
    from = low - air;
    to = high + air;
  }
  double At(double value) const {
    return kLeft + (value - from) / (to - from) * (kWidth - kLeft - kRight);
  }
  double from = 0, to = 1;
};

void Text(std::string& svg, double x, double y, std::string_view text, const char* more = "") {
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, more, XmlText(text));
}

void Line(std::string& svg, double x1, double y1, double x2, double y2, const char* more) {
  svg += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, more);
}

template <typename Show>
void Axis(std::string& svg, const Scale& scale, double y, const Show& show) {
  Line(svg, kLeft, y, kWidth - kRight, y, "stroke=\"#888\"");
  for (int i = 0; i <= 4; ++i) {
    const double value = scale.from + (scale.to - scale.from) * i / 4;
    Line(svg, scale.At(value), y, scale.At(value), y + 4, "stroke=\"#888\"");
    Text(svg, scale.At(value), y + 16, show(value), "text-anchor=\"middle\" class=\"f\"");
  }
}

// One strip an arm: a dot a run, a bar at the median.
double Strips(std::string& svg, const Benchmark& benchmark, double y) {
  double low = INFINITY, high = -INFINITY;
  for (const bench::Arm& arm : benchmark.arms) {
    for (const bench::Run& run : arm.runs) {
      low = std::min(low, run.value.value_or(low));
      high = std::max(high, run.value.value_or(high));
    }
  }
  if (!(low <= high)) return y;
  const Scale scale(low, high);
  Text(svg, kLeft, y + 4, benchmark.metric.Title() + ", one dot a run, bar at the median",
       "class=\"f\"");
  y += 14;
  for (std::size_t i = 0; i < benchmark.arms.size(); ++i) {
    const char* colour = kColours[i % std::size(kColours)];
    Text(svg, kLeft - 12, y + kStrip / 2 + 4, benchmark.arms[i].name,
         "text-anchor=\"end\" font-weight=\"bold\"");
    std::vector<double> values;
    for (const bench::Run& run : benchmark.arms[i].runs) {
      if (!run.value) continue;
      // Spread over the strip by the golden ratio: even, and the same every time.
      const double place = std::fmod(0.618034 * static_cast<double>(values.size()) + 0.5, 1.0);
      values.push_back(*run.value);
      svg += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\" fill-opacity=\"0.6\"/>\n",
          scale.At(*run.value), y + 8 + place * (kStrip - 16), colour);
    }
    if (!values.empty()) {
      const double x = scale.At(stats::Median(values));
      svg += fmt::format(
          "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\" "
          "stroke-width=\"2.5\"/>\n",
          x, y + 3, y + kStrip - 3, colour);
    }
    y += kStrip;
  }
  Axis(svg, scale, y, [&](double value) { return benchmark.metric.Show(value); });
  return y + 44;
}

// Ratios pair by pair, from top to bottom in time; the interval as a band.
double Ratios(std::string& svg, const Benchmark& benchmark, const Comparison& comparison,
              double y) {
  if (comparison.ratios.empty()) return y;
  const stats::Judgement& judgement = comparison.judgement;
  double low = std::min(1.0, *std::min_element(comparison.ratios.begin(), comparison.ratios.end()));
  double high =
      std::max(1.0, *std::max_element(comparison.ratios.begin(), comparison.ratios.end()));
  if (judgement.known) {
    low = std::min(low, std::max(judgement.interval.low, low / 2));
    high = std::max(high, std::min(judgement.interval.high, high * 2));
  }
  const Scale scale(low, high);
  Text(svg, kLeft, y + 4,
       fmt::format("how many times {} is better than {}, pair by pair (first pair on top)",
                   benchmark.arms[comparison.arm].name, benchmark.arms[comparison.baseline].name),
       "class=\"f\"");
  y += 14;
  const double height = kPair * static_cast<double>(comparison.ratios.size()) + 12;
  if (judgement.known) {
    const double left = std::max(scale.At(judgement.interval.low), kLeft);
    const double right = std::min(scale.At(judgement.interval.high), kWidth - kRight);
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" "
        "fill-opacity=\"0.15\"/>\n",
        left, y, std::max(right - left, 1.0), height, kColours[comparison.arm % 5]);
  }
  Line(svg, scale.At(1), y, scale.At(1), y + height, "stroke=\"#888\" stroke-dasharray=\"4 3\"");
  Line(svg, scale.At(judgement.ratio), y, scale.At(judgement.ratio), y + height,
       "stroke=\"#444\" class=\"s\"");
  for (std::size_t i = 0; i < comparison.ratios.size(); ++i) {
    const bool far =
        std::find(comparison.far.begin(), comparison.far.end(), i) != comparison.far.end();
    svg +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"{}/>\n",
                    scale.At(comparison.ratios[i]), y + 6 + kPair * (static_cast<double>(i) + 0.5),
                    far ? "none" : kColours[comparison.arm % 5],
                    far ? " stroke=\"#c00\" stroke-width=\"1.5\"" : "");
  }
  Axis(svg, scale, y + height, [](double value) { return fmt::format("{:.3f}x", value); });
  return y + height + 44;
}

std::string Svg(const Benchmark& benchmark) {
  std::string body;
  double y = 24;
  for (const Comparison& comparison : benchmark.comparisons) {
    Text(body, kLeft, y, VerdictLine(benchmark, comparison, "–"),
         "font-size=\"16\" font-weight=\"bold\"");
    y += 26;
  }
  y = Strips(body, benchmark, y);
  for (const Comparison& comparison : benchmark.comparisons) {
    y = Ratios(body, benchmark, comparison, y);
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
             "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
             "<style>text{{fill:#222}}.f{{fill:#666}}@media(prefers-color-scheme:dark){{"
             "text{{fill:#eee}}.f{{fill:#aaa}}.s{{stroke:#ccc}}}}</style>\n",
             kWidth, y) +
         body + "</svg>\n";
}

}  // namespace

void WriteBenchSvg(const Benchmark& benchmark, std::ostream& out) { out << Svg(benchmark); }

}  // namespace hone::report
