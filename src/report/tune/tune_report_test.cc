// SPDX-License-Identifier: Apache-2.0
#include "report/tune/tune_report.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <sstream>

#include "base/utf8.h"
#include "report/tune/tune_words.h"

namespace hone::report {
namespace {

using tune::Row;
using tune::TuneResult;

constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>|`\x1b[31m";

tune::Trial Fine(const tune::Recipe& recipe, double rate) {
  tune::Trial trial;
  trial.order.recipe = recipe;
  trial.rate = rate;
  bench::Steps steps;
  steps.mean_s = 8 / rate;
  trial.steps = steps;
  trial.peak_rss_bytes = 300 << 20;
  return trial;
}

Row RowFor(const std::string& title, Row::Fate fate) {
  Row row;
  row.candidate.choice.treatment = title;
  row.candidate.title = title;
  row.candidate.code = "first line\nsecond line";
  row.fate = fate;
  row.why = "because of " + title;
  return row;
}

TuneResult Sample() {
  TuneResult result;
  result.command = {"python", "train.py", kHostile};
  result.folder = "/tmp/hone-train";
  result.counts_samples = true;
  result.baseline_rate = 100;
  result.winner = {{"workers", "{}"}};
  result.trials = {Fine({}, 100), Fine(result.winner, 250)};
  result.rows = {RowFor("workers", Row::Fate::kAdopted), RowFor(kHostile, Row::Fate::kRejected),
                 RowFor("late one", Row::Fate::kNotTried),
                 RowFor("late two", Row::Fate::kNotTried)};
  result.rows[0].predicted = 2.1;
  result.rows[0].predicted_by = "input-bound";
  result.rows[0].on_top = result.rows[0].alone = result.rows[0].cumulative = 2.5;
  result.rows[0].cumulative_rate = result.rows[0].rate = 250;
  result.rows[2].why = result.rows[3].why = "not tried: the budget was spent";
  result.inapplicable = {{"tf32", "TF32", "no GPU"}, {"pinned", "pinned", "no GPU"}};
  result.advice = {{kHostile, kHostile, kHostile, kHostile}};
  result.patch = "--- a/train.py\n+++ b/train.py\n";
  return result;
}

void Prove(TuneResult& result, stats::Verdict verdict) {
  bench::Benchmark benchmark;
  benchmark.arms = {{"A", {"a"}, {}}, {"B", {"b"}, {}}};
  bench::Comparison comparison;
  comparison.judgement = {verdict, true, 2.5, {2.3, 2.7}, 5, 0.01, false};
  benchmark.comparisons.push_back(comparison);
  result.confirmation = benchmark;
}

bench::Run RunOf(double samples_per_s) {
  bench::Steps steps;
  steps.mean_s = 8 / samples_per_s;
  steps.samples_per_s = samples_per_s;
  bench::Run run;
  run.steps = steps;
  return run;
}

std::string Written(void (*write)(const TuneResult&, std::ostream&), const TuneResult& result) {
  std::ostringstream out;
  write(result, out);
  return out.str();
}

TEST(TuneReport, OnlyAProofMakesItFaster) {
  const Style style;
  TuneResult result = Sample();
  EXPECT_EQ(OutcomeOf(result), TuneOutcome::kUnproven);
  EXPECT_NE(TuneVerdict(result, style).find("no time was left to prove it"), std::string::npos);
  Prove(result, stats::Verdict::kCannotTell);
  EXPECT_EQ(OutcomeOf(result), TuneOutcome::kUnproven);
  Prove(result, stats::Verdict::kFaster);
  EXPECT_EQ(OutcomeOf(result), TuneOutcome::kFaster);
  EXPECT_NE(TuneVerdict(result, style).find("2.50x faster (2.30–2.70), 5 pairs"), std::string::npos)
      << TuneVerdict(result, style);
  result.winner_guard = {true, false, "its loss is 3 where 2 is the most", 3, 2, 60};
  EXPECT_EQ(OutcomeOf(result), TuneOutcome::kUnproven);
  EXPECT_NE(TuneVerdict(result, style).find("its loss is 3 where 2 is the most"),
            std::string::npos);
  result.winner.clear();
  EXPECT_EQ(OutcomeOf(result), TuneOutcome::kNothing);
}

// The ratio and the rates of the headline are of the same runs.
TEST(TuneReport, TheHeadlineHasTheRatesOfTheProof) {
  TuneResult result = Sample();
  result.rows[0].cumulative_rate = 240;  // of all its trials; the last was 250
  EXPECT_EQ(TuneHeadline(result, {})[0], "100 → 240 samples/s");
  EXPECT_EQ(TuneHeadline(result, {})[2], "means of the trials");
  Prove(result, stats::Verdict::kFaster);
  result.confirmation->arms[0].runs = {RunOf(110), RunOf(90), RunOf(112)};
  result.confirmation->arms[1].runs = {RunOf(275), RunOf(270), RunOf(300)};
  // Cube roots of 110 * 90 * 112 and 275 * 270 * 300; the step is 8 samples by that.
  EXPECT_EQ(TuneHeadline(result, {})[0], "104 → 281 samples/s");
  EXPECT_EQ(TuneHeadline(result, {})[1], "step 77.3 ms → 28.4 ms");
  EXPECT_EQ(TuneHeadline(result, {})[2], "means of the proof's runs");
}

TEST(TuneReport, CommandsCanBePasted) {
  TuneResult result = Sample();
  result.command = {"python", "my train.py", "--name=it's"};
  result.folder = "/nowhere/out put";
  EXPECT_EQ(
      TuneNext(result)[0].first,
      "hone run --recipe '/nowhere/out put/recipe.json' -- python 'my train.py' '--name=it'\\''s'");
}

TEST(TuneReport, HostileWordsStayWords) {
  TuneResult result = Sample();
  Prove(result, stats::Verdict::kFaster);
  const std::string page = Written(WriteTuneHtml, result);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(page.find("+++ b/train.py\n"), std::string::npos);  // a patch keeps its lines
  const std::string markdown = Written(WriteTuneMarkdown, result);
  for (std::size_t at = markdown.find("<img"); at != std::string::npos;
       at = markdown.find("<img", at + 1)) {
    EXPECT_EQ(markdown[at - 1], '\\') << markdown;
  }
  std::ostringstream text;
  WriteTuneText(result, Style{}, text);
  for (const std::string& output : {page, markdown, text.str()}) {
    EXPECT_EQ(output.find('\x1b'), std::string::npos);
  }
}

TEST(TuneReport, JsonIsRead) {
  TuneResult result = Sample();
  Prove(result, stats::Verdict::kFaster);
  const std::string json = Written(WriteTuneJson, result);
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  ASSERT_EQ(parser.parse(json).get(document), simdjson::SUCCESS) << json;
  std::string_view verdict;
  ASSERT_EQ(document["verdict"].get(verdict), simdjson::SUCCESS);
  EXPECT_EQ(verdict, "faster");
  EXPECT_EQ(document["rows"].get_array().value_unsafe().size(), 4u);
}

TEST(TuneReport, TheTableFitsAndSaysEachReasonOnce) {
  std::ostringstream out;
  WriteTuneText(Sample(), Style{}, out);
  std::istringstream lines(out.str());
  std::string line;
  // Commands to type are never cut; they come last.
  while (std::getline(lines, line) && line.find("next:") == std::string::npos) {
    EXPECT_LE(DisplayWidth(line), 80u) << line;
  }
  EXPECT_NE(out.str().find("not tried: the budget was spent: late one, late two"),
            std::string::npos);
  EXPECT_NE(out.str().find("tf32, pinned: no GPU"), std::string::npos);
  EXPECT_NE(out.str().find("measured 2.50x, predicted 2.10x (input-bound)"), std::string::npos);
  // What was adopted with others says so: the factor is not its own.
  tune::Row row = Sample().rows[0];
  row.together = 3;
  EXPECT_EQ(TuneEvidence(row, {})[0], "measured 2.50x for 3 at once, predicted 2.10x");
  row.together = 1;
  EXPECT_EQ(TuneEvidence(row, {})[0], "measured 2.50x, predicted 2.10x (input-bound)");
}

}  // namespace
}  // namespace hone::report
