// SPDX-License-Identifier: Apache-2.0
// The writers of `hone diff` on names that strangers made.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "base/json_value_test.h"
#include "base/utf8.h"
#include "report/diff/diff_html.h"
#include "report/diff/diff_json.h"
#include "report/diff/diff_markdown.h"
#include "report/diff/diff_report.h"
#include "report/diff/diff_text.h"
#include "report/diff/diff_words.h"

namespace hone::report {
namespace {

std::string Evil() {
  return "</script><img src=x onerror=alert(1)> |`a`\\| @me #1 [x](http://e.vil) "
         "www.e.vil\n\x1b[31m\x9b" +
         std::string(3000, 'x') + "\xff";
}

// One idle cause and three operators, all of them evil.
DiffReport Sample() {
  DiffReport report;
  report.before.name = report.after.name = Evil();
  report.before.path = report.after.path = Evil();
  report.before.trust.verdict = analyze::Verdict::kPartial;
  report.before.trust.reasons.push_back({analyze::Verdict::kPartial, Evil()});
  report.after.traces = 4;
  report.after.lead_rank = 2;
  diff::Diff& diff = report.diff;
  diff.setup.same = {Evil()};
  diff.setup.differences.push_back({"device", "device", Evil(), Evil() + "2", "other hardware"});
  diff::StepChange step;
  step.before_steps = 10;
  step.after_steps = 12;
  step.before_ns = 100'000'000;
  step.after_ns = 120'000'000;
  step.range = diff::DifferenceRange{15'000'000, 25'000'000};
  step.verdict = diff::Verdict::kSlower;
  diff.step = step;
  diff.total = diff::Change{100'000'000, 120'000'000};
  diff.parts = {
      {"compute", "GPU compute", diff::PartKind::kCompute, {60'000'000, 90'000'000}},
      {"idle:launch", "idle: launching", diff::PartKind::kIdle, {40'000'000, 30'000'000}}};
  diff.phases = std::vector<diff::PhaseChange>{{"forward", {100'000'000, 120'000'000}}};
  const StringId name = diff.names.Intern(Evil());
  for (const diff::Fate fate : {diff::Fate::kReplaced, diff::Fate::kKept, diff::Fate::kAppeared}) {
    diff::PlaceChange place;
    place.fate = fate;
    place.op_before = place.op_after = place.kernel_before = place.kernel_after = place.shape =
        name;
    place.kernels_before = place.kernels_after = 2;
    place.path = diff.names.Inside(diff.names.Inside(diff::kNoPath, name), name);
    place.before = {10, 20'000'000, 20'000'000};
    place.after = {12, 30'000'000, 30'000'000};
    place.count_effect_ns = 5'000'000;
    place.rate_effect_ns = 5'000'000;
    diff.places.push_back(place);
    diff.ops.push_back(
        {name, diff::Fate::kKept, {20'000'000, 30'000'000}, 10, 12, diff.places.size() - 1});
    diff.contributions.push_back({true, diff.ops.size() - 1, 10'000'000});
  }
  diff.contributions.push_back({false, 1, -10'000'000});
  diff.figures.push_back({"gpu_busy_share", "GPU busy", diff::FigureUnit::kShare, 0.6, 0.75});
  diff.figures.push_back({"memory_peak_bytes", "peak memory", diff::FigureUnit::kBytes,
                          Known<double>::Absent(Evil()), 1e9});
  report.gates.push_back(
      {{Evil(), diff::Metric::kSlower, true, 0.03}, diff::GateState::kFailed, Evil()});
  return report;
}

TEST(DiffText, StaysInsideItsWidthAndLetsNothingThrough) {
  const DiffReport report = Sample();
  for (const std::size_t width : {60, 80, 110}) {
    for (const bool utf8 : {true, false}) {
      std::ostringstream out;
      WriteDiffText(report, {.style = {.width = width, .color = false, .utf8 = utf8}, .all = true},
                    out);
      std::istringstream lines(out.str());
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(DisplayWidth(line), width) << line;
        EXPECT_EQ(line.find('\x1b'), std::string::npos);
        EXPECT_FALSE(line.ends_with(' ')) << '"' << line << '"';
      }
    }
  }
}

TEST(DiffText, LeadsWithTheVerdict) {
  std::ostringstream out;
  WriteDiffText(Sample(), {}, out);
  EXPECT_NE(out.str().find("20.0 % slower · step 100 → 120 ms (+20.0 ms, +20.0 %)"),
            std::string::npos);
  EXPECT_NE(out.str().find("rank 2 of 4"), std::string::npos);
}

TEST(DiffMarkdown, EveryRowHasItsCellsAndNothingIsMarkup) {
  std::ostringstream out;
  WriteDiffMarkdown(Sample(), 0, out);
  const std::string text = out.str();
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) continue;
    int cells = -1;  // bars that are not escaped, as tables read them
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\\') {
        ++i;
      } else if (line[i] == '|') {
        ++cells;
      }
    }
    EXPECT_EQ(cells, 4) << line;
  }
}

TEST(DiffHtml, NoNameBecomesAnElement) {
  std::ostringstream out;
  WriteDiffHtml(Sample(), out);
  const std::string page = out.str();
  for (const char* tag : {"<img", "<script", "</script", "<a ", "\x1b"}) {
    EXPECT_EQ(page.find(tag), std::string::npos) << tag;
  }
  EXPECT_NE(page.find("&lt;img src=x onerror=alert(1)&gt;"), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

TEST(DiffJson, ReadsBackWithItsRows) {
  std::ostringstream out;
  WriteDiffJson(Sample(), std::nullopt, out);
  const JsonDocument document(out.str());
  EXPECT_EQ(document["step"]["verdict"].text(), "slower");
  EXPECT_DOUBLE_EQ(document["step"]["range_ms"]["low"].number(), 15);
  EXPECT_DOUBLE_EQ(document["total_ms"]["change"].number(), 20);
  EXPECT_EQ(document["kernels"].size(), 3U);
  EXPECT_TRUE(document["kernels"][std::size_t{0}]["count_effect_ms"].is_null());  // replaced
  EXPECT_DOUBLE_EQ(document["kernels"][1]["count_effect_ms"].number(), 5);
  EXPECT_EQ(document["kernels"][1]["around"].size(), 1U);
  EXPECT_TRUE(document["figures"][1]["before"]["absent"].found());
  std::ostringstream brief;
  WriteDiffJson(Sample(), 1, brief);
  EXPECT_EQ(JsonDocument(brief.str())["ops"].size(), 1U);
}

TEST(DiffWords, SaysByHowMuch) {
  diff::Diff diff;
  diff::StepChange step;
  step.range = diff::DifferenceRange{};
  const auto say = [&](Nanos before, Nanos after, diff::Verdict verdict) {
    step.before_ns = before;
    step.after_ns = after;
    step.verdict = verdict;
    diff.step = step;
    return VerdictText(diff);
  };
  EXPECT_EQ(say(1000, 500, diff::Verdict::kFaster), "2.0x faster");
  EXPECT_EQ(say(1000, 900, diff::Verdict::kFaster), "10.0 % faster");
  EXPECT_EQ(say(1000, 1052, diff::Verdict::kSlower), "5.2 % slower");
  EXPECT_EQ(say(1000, 1001, diff::Verdict::kWithinNoise), "no change beyond noise");
  step.range = Known<diff::DifferenceRange>::Absent("2 steady steps");
  EXPECT_EQ(say(1000, 1000, diff::Verdict::kUnsure), "no change, but too few steps to be sure");
  diff.step = Known<diff::StepChange>::Absent("no steps");
  EXPECT_EQ(VerdictText(diff), "cannot tell which is faster");
}

TEST(DiffWords, NamesTheMediansBesideMeans) {
  diff::Diff diff;
  diff::StepChange step;
  step.before_steps = step.after_steps = 60;
  step.before_ns = 18'600'000;
  step.after_ns = 700'000;
  step.before_median_ns = 1'140'000;
  step.after_median_ns = 680'000;
  step.range = diff::DifferenceRange{-30'000'000, 5'000'000};
  step.verdict = diff::Verdict::kUnsure;
  Style style;
  style.utf8 = false;
  EXPECT_EQ(StepText(step, style).find("median"), std::string::npos);
  EXPECT_EQ(NoiseText(step, style).find("mean"), std::string::npos);
  step.by_mean = true;
  diff.step = step;
  EXPECT_EQ(VerdictText(diff), "cannot tell which is faster");
  EXPECT_NE(StepText(step, style).find("-96.2 %; median 1.14 -> 0.680 ms)"), std::string::npos)
      << StepText(step, style);
  EXPECT_NE(NoiseText(step, style).find("the change of the mean lies between -30.0 and +5.00 ms"),
            std::string::npos)
      << NoiseText(step, style);
}

}  // namespace
}  // namespace hone::report
