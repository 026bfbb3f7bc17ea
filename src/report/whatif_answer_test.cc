// SPDX-License-Identifier: Apache-2.0
#include "report/whatif_answer.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/json_value_test.h"
#include "base/utf8.h"
#include "report/json/json_whatif.h"
#include "report/sample_report_test.h"
#include "report/text/whatif_text.h"

namespace hone::report {
namespace {

FixAnswer Fix(const char* id, double alone_ns, double upto_ns) {
  FixAnswer fix;
  fix.id = id;
  fix.what = "batches are ready when they are asked for";
  fix.scope = HostileName();
  fix.alone = replay::Prediction{alone_ns * 0.9, alone_ns, alone_ns * 1.1};
  fix.upto = replay::Prediction{upto_ns * 0.9, upto_ns, upto_ns * 1.1};
  fix.speedup = 95e6 / alone_ns;
  return fix;
}

WhatIfAnswer SampleAnswer() {
  WhatIfAnswer answer;
  answer.measured_ns = 100e6;
  answer.replayed_ns = 98.6e6;
  answer.error = -0.014;
  answer.steps = 2;
  answer.all_steps = 5;
  answer.bare = {90e6, 95e6, 99e6};
  answer.recorder = std::string("about 5 ms a step");
  answer.fixes = {Fix("host-sync", 80e6, 80e6), Fix("input-bound", 50e6, 40e6)};
  FixAnswer none;
  none.id = "recompile";
  none.why_not = HostileName();
  none.alone = none.upto = Known<replay::Prediction>::Absent("nothing is compiled");
  none.speedup = Known<double>::Absent("nothing is compiled");
  answer.fixes.push_back(none);
  answer.predicted = *answer.fixes[1].upto;
  answer.speedup = 2.375;
  answer.recoverable_ns = 55e6;
  return answer;
}

template <typename Writer>
std::string Write(Writer writer, const Known<WhatIfAnswer>& answer, std::size_t width, bool utf8) {
  Style style;
  style.width = width;
  style.utf8 = utf8;
  std::ostringstream out;
  writer(SampleReport(), answer, style, out);
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(DisplayWidth(line), width) << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
  }
  return out.str();
}

TEST(WhatIfText, FitsAndSaysEachAloneAndInTurn) {
  for (const std::size_t width : {60U, 80U, 110U}) {
    for (const bool utf8 : {true, false}) {
      Write(WriteWhatIf, SampleAnswer(), width, utf8);
      Write(WriteWhatIfList, SampleAnswer(), width, utf8);
    }
  }
  const std::string text = Write(WriteWhatIf, SampleAnswer(), 80, true);
  for (const char* part :
       {"step as recorded", "100 ms", "replayed as 98.6 ms, 1.4 % less",
        "replayed: 2 of 5 steady steps, from number 1 on", "90.0–99.0", "with both", "40.0 ms",
        "36.0–44.0, 2.4x", "no fix here, and why", "recompile"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(WhatIfText, ListPutsTheBestFirst) {
  const std::string text = Write(WriteWhatIfList, SampleAnswer(), 80, true);
  EXPECT_LT(text.find("input-bound"), text.find("host-sync")) << text;
  EXPECT_LT(text.find("host-sync"), text.find("recompile")) << text;
}

TEST(WhatIfText, SaysWhyThereIsNoReplay) {
  const auto none = Known<WhatIfAnswer>::Absent("no steps were found");
  EXPECT_NE(Write(WriteWhatIf, none, 80, true).find("no steps were found"), std::string::npos);
  EXPECT_NE(Write(WriteWhatIfList, none, 80, true).find("no steps were found"), std::string::npos);
}

TEST(WhatIfJson, HasWhatTheManualSays) {
  std::ostringstream out;
  WriteWhatIfJson(SampleReport(), SampleAnswer(), out);
  const JsonDocument document(out.str());
  EXPECT_DOUBLE_EQ(document["measured_step_ms"].number(), 100);
  EXPECT_DOUBLE_EQ(document["replay_error_pct"].number(), -1.4);
  EXPECT_DOUBLE_EQ(document["bare_step_ms"]["low"].number(), 90);
  EXPECT_DOUBLE_EQ(document["predicted_step_ms"]["likely"].number(), 40);
  EXPECT_DOUBLE_EQ(document["recoverable_ms"].number(), 55);
  ASSERT_EQ(document["fixes"].size(), 3U);
  EXPECT_TRUE(document["fixes"][std::size_t{0}]["applies"].flag());
  EXPECT_TRUE(document["fixes"][std::size_t{0}]["why_not"].is_null());
  EXPECT_FALSE(document["fixes"][2]["applies"].flag());
  EXPECT_EQ(document["fixes"][2]["alone_step_ms"]["absent"].text(), "nothing is compiled");
}

}  // namespace
}  // namespace hone::report
