// SPDX-License-Identifier: Apache-2.0
#include "report/json/json_report.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/json_value_test.h"
#include "report/sample_report_test.h"

namespace hone::report {
namespace {

std::string Write(const Report& report, const JsonOptions& options = {}) {
  std::ostringstream out;
  const Status written = WriteJson(report, options, out);
  EXPECT_TRUE(written.has_value());
  return out.str();
}

JsonDocument Parse(const Report& report, const JsonOptions& options = {}) {
  return JsonDocument(Write(report, options));
}

TEST(JsonReport, HasEverySectionAndNoNullAmongThem) {
  const JsonDocument document = Parse(SampleReport());
  for (const char* key :
       {"schema_version", "hone_version", "trace",         "trust",      "findings",
        "not_checked",    "replay",       "critical_path", "steps",      "timeline",
        "idle",           "kernels",      "ops",           "transfers",  "syncs",
        "memory",         "comm",         "loader",        "efficiency", "python",
        "launches",       "kernel_sizes"}) {
    ASSERT_TRUE(document[key].found()) << key;
    EXPECT_FALSE(document[key].is_null()) << key;
  }
  EXPECT_FALSE(document["ranks"].found());
  EXPECT_FALSE(document["compat"].found());
}

TEST(JsonReport, AbsentSectionsAreAnObjectWithTheReason) {
  const JsonDocument document = Parse(SampleReport());
  EXPECT_EQ(document["memory"].size(), 1U);
  EXPECT_EQ(document["memory"]["absent"].text(), "profile_memory was off");
  EXPECT_EQ(document["python"]["absent"].text(), "with_stack was off");
}

TEST(JsonReport, TimesAreExactAndSum) {
  EXPECT_NE(Write(SampleReport()).find("\"total_ms\": 300.000001"), std::string::npos);
  const JsonDocument document = Parse(SampleReport());
  const JsonValue timeline = document["timeline"];
  EXPECT_DOUBLE_EQ(timeline["busy_ms"].number(), 240);
  EXPECT_DOUBLE_EQ(timeline["busy_ms"].number(), timeline["compute_ms"].number() +
                                                     timeline["exposed_comm_ms"].number() +
                                                     timeline["exposed_copy_ms"].number());
  const JsonValue rows = document["idle"];
  ASSERT_EQ(rows.size(), analyze::kIdleCauseCount);
  double idle = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    idle += rows[i]["ms"].number();
    EXPECT_FALSE(rows[i]["cause"].text().empty());
    EXPECT_GE(rows[i]["count"].integer(), 0);
    EXPECT_GE(rows[i]["steady_ms"].number(), 0);
    EXPECT_EQ(rows[i].size(), 4U);
  }
  EXPECT_NEAR(idle, timeline["idle_ms"].number(), 1e-9);
}

TEST(JsonReport, TheTimelineFollowsTheRulesAskedFor) {
  EXPECT_EQ(Parse(SampleReport())["timeline"]["rules"].text(), "hone");
  Report report = SampleReport();
  analyze::TraceLensTimeline theirs;
  theirs.total = 34.8924189453125;
  theirs.exposed_memcpy = 0.002367919921875;
  report.inputs[0].tracelens.emplace();
  report.inputs[0].tracelens->timeline = theirs;
  const JsonDocument document = Parse(report);
  EXPECT_EQ(document["timeline"]["rules"].text(), "tracelens");
  EXPECT_EQ(document["timeline"]["total_ms"].number(), theirs.total);
  EXPECT_EQ(document["timeline"]["exposed_copy_ms"].number(), theirs.exposed_memcpy);
  EXPECT_DOUBLE_EQ(document["timeline"]["per_device"][std::size_t{0}]["busy_ms"].number(), 240);
}

TEST(JsonReport, HostileNamesSurvive) {
  for (const char c : Write(SampleReport())) {
    EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 && c != '\n') << int(c);
  }
  const JsonDocument document = Parse(SampleReport());
  const JsonValue kernel = document["kernels"][std::size_t{0}];
  EXPECT_EQ(kernel["name"].text().substr(0, 24), "void \x1b[31mkernel\x07<\"a\", b");
  EXPECT_NE(kernel["name"].text().find("\xEF\xBF\xBD"), std::string::npos);
  EXPECT_DOUBLE_EQ(kernel["total_ms"].number(), 80.000001);
  EXPECT_DOUBLE_EQ(kernel["max_us"].number(), 30000.001);
  EXPECT_TRUE(document["kernels"][1]["occupancy_pct"].is_null());
}

TEST(JsonReport, FindingsCarryNumbersPlacesAndReasons) {
  const JsonDocument document = Parse(DiagnosedReport());
  const JsonValue findings = document["findings"];
  ASSERT_EQ(findings.size(), 7U);
  const JsonValue first = findings[std::size_t{0}];
  EXPECT_EQ(first["id"].text(), "input-bound");
  EXPECT_EQ(first["severity"].text(), "high");
  EXPECT_EQ(first["effort"].text(), "one line");
  EXPECT_DOUBLE_EQ(first["recoverable_ms"].number(), 45);
  EXPECT_DOUBLE_EQ(first["predicted_step_ms"]["likely"].number(), 50);
  EXPECT_EQ(first["where"][std::size_t{0}]["source"].text(), "train.py:46");
  EXPECT_TRUE(first["where"][std::size_t{0}]["start_us"].is_null());
  EXPECT_EQ(first["same_cause"][std::size_t{0}].text(), "python-hotspot");
  EXPECT_EQ(first["docs"].text(), "hone help input-bound");
  const JsonValue unpredicted = findings[4];
  for (const char* key : {"recoverable_ms", "speedup", "speedup_after", "predicted_step_ms"}) {
    EXPECT_EQ(unpredicted[key]["absent"].text(), "no model predicts this change") << key;
  }
  EXPECT_EQ(document["not_checked"].size(), 3U);
  EXPECT_DOUBLE_EQ(document["replay"]["error_pct"].number(), -1.4);
  EXPECT_DOUBLE_EQ(document["replay"]["together_ms"]["high"].number(), 33);
  EXPECT_DOUBLE_EQ(document["critical_path"]["length_ms"].number(), 98.6);
  EXPECT_EQ(document["critical_path"]["kinds"].size(), replay::kPathKindCount);
  EXPECT_EQ(document["critical_path"]["parts"].size(), 4U);
}

TEST(JsonReport, FindingsCanBeShapedAndReplayMayBeAbsent) {
  Report report = DiagnosedReport();
  const JsonDocument shaped = Parse(report, {"findings", {"id", false, 2}});
  ASSERT_EQ(shaped["findings"].size(), 2U);
  EXPECT_EQ(shaped["findings"][std::size_t{0}]["id"].text(), "blocking-copy");
  report.diagnosis->replay = Known<doctor::ReplayFacts>::Absent("no steps");
  const JsonDocument document = Parse(report);
  EXPECT_EQ(document["replay"]["absent"].text(), "no steps");
  EXPECT_EQ(document["critical_path"]["absent"].text(), "no steps");
  EXPECT_EQ(document["findings"][4]["speedup"]["absent"].text(), "no steps");
}

TEST(JsonReport, StepsSayWhatIsWarmUp) {
  const JsonDocument document = Parse(SampleReport());
  const JsonValue steps = document["steps"];
  EXPECT_EQ(steps["count"].integer(), 3);
  EXPECT_EQ(steps["steady_count"].integer(), 2);
  EXPECT_DOUBLE_EQ(steps["median_ms"].number(), 100);
  EXPECT_TRUE(steps["list"][std::size_t{0}]["warm_up"].flag());
  EXPECT_FALSE(steps["list"][2]["warm_up"].flag());
  EXPECT_DOUBLE_EQ(steps["list"][2]["start_ms"].number(), 200);
}

TEST(JsonReport, SortAndLimitShapeTheNamedTableOnly) {
  const Report report = SampleReport();
  const JsonDocument document = Parse(report, {"ops", {"host_self", false, 1}});
  ASSERT_EQ(document["ops"].size(), 1U);
  EXPECT_EQ(document["ops"][std::size_t{0}]["name"].text(), "aten::item");
  EXPECT_EQ(document["kernels"].size(), 2U);
  std::ostringstream out;
  const Status bad = WriteJson(report, {"ops", {"host_slef", false, {}}}, out);
  ASSERT_FALSE(bad.has_value());
  EXPECT_TRUE(out.str().empty());
}

TEST(JsonReport, StableHidesFoldersAndVersion) {
  Report report = SampleReport();
  report.stable = true;
  const JsonDocument document = Parse(report);
  EXPECT_EQ(document["trace"]["path"].text(), "trace.json.gz");
  EXPECT_EQ(document["hone_version"].text(), "stable");
}

TEST(JsonReport, AnEmptyReportIsStillADocument) {
  Report report;
  report.inputs.emplace_back();
  report.inputs.emplace_back();
  const JsonDocument document = Parse(report);
  EXPECT_FALSE(document["timeline"]["absent"].text().empty());
  EXPECT_EQ(document["ranks"]["count"].integer(), 2);
}

}  // namespace
}  // namespace hone::report
