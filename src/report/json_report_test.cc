// SPDX-License-Identifier: Apache-2.0
#include "report/json/json_report.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <sstream>

#include "report/sample_report_test.h"

namespace hone::report {
namespace {

std::string Write(const Report& report, const JsonOptions& options = {}) {
  std::ostringstream out;
  const Status written = WriteJson(report, options, out);
  EXPECT_TRUE(written.has_value());
  return out.str();
}

class JsonReport : public ::testing::Test {
 protected:
  simdjson::dom::element Parse(const Report& report, const JsonOptions& options = {}) {
    const std::string text = Write(report, options);
    simdjson::dom::element document;
    EXPECT_EQ(parser_.parse(text).get(document), simdjson::SUCCESS) << text;
    return document;
  }
  simdjson::dom::parser parser_;
};

TEST_F(JsonReport, HasEverySectionAndNoNullAmongThem) {
  const simdjson::dom::element document = Parse(SampleReport());
  for (const char* key :
       {"schema_version", "hone_version", "trace", "trust", "steps", "timeline", "idle", "kernels",
        "ops", "transfers", "syncs", "memory", "comm", "loader", "efficiency", "python", "launches",
        "kernel_sizes"}) {
    simdjson::dom::element section;
    ASSERT_EQ(document[key].get(section), simdjson::SUCCESS) << key;
    EXPECT_FALSE(section.is_null()) << key;
  }
  simdjson::dom::element none;
  EXPECT_NE(document["ranks"].get(none), simdjson::SUCCESS);
  EXPECT_NE(document["compat"].get(none), simdjson::SUCCESS);
}

TEST_F(JsonReport, AbsentSectionsAreAnObjectWithTheReason) {
  const simdjson::dom::element document = Parse(SampleReport());
  simdjson::dom::object memory = document["memory"];
  EXPECT_EQ(memory.size(), 1U);
  EXPECT_EQ(std::string_view(memory["absent"]), "profile_memory was off");
  EXPECT_EQ(std::string_view(document["python"]["absent"]), "with_stack was off");
}

TEST_F(JsonReport, TimesAreExactAndSum) {
  const std::string text = Write(SampleReport());
  EXPECT_NE(text.find("\"total_ms\": 300.000001"), std::string::npos);
  const simdjson::dom::element document = Parse(SampleReport());
  const simdjson::dom::element timeline = document["timeline"];
  const double busy = timeline["busy_ms"], compute = timeline["compute_ms"];
  const double comm = timeline["exposed_comm_ms"], copy = timeline["exposed_copy_ms"];
  EXPECT_DOUBLE_EQ(busy, 240);
  EXPECT_DOUBLE_EQ(busy, compute + comm + copy);
  double idle = 0;
  std::size_t causes = 0;
  for (const simdjson::dom::element row : simdjson::dom::array(document["idle"])) {
    idle += double(row["ms"]);
    EXPECT_FALSE(std::string_view(row["cause"]).empty());
    EXPECT_GE(std::int64_t(row["count"]), 0);
    EXPECT_GE(double(row["steady_ms"]), 0);
    ++causes;
  }
  EXPECT_EQ(causes, analyze::kIdleCauseCount);
  EXPECT_NEAR(idle, double(timeline["idle_ms"]), 1e-9);
}

TEST_F(JsonReport, HostileNamesSurvive) {
  const std::string text = Write(SampleReport());
  for (const char c : text) {
    EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 && c != '\n') << int(c);
  }
  const simdjson::dom::element document = Parse(SampleReport());
  const simdjson::dom::element kernel = simdjson::dom::array(document["kernels"]).at(0);
  const std::string_view name = kernel["name"];
  EXPECT_EQ(name.substr(0, 24), "void \x1b[31mkernel\x07<\"a\", b");
  EXPECT_NE(name.find("\xEF\xBF\xBD"), std::string_view::npos);
  EXPECT_DOUBLE_EQ(double(kernel["total_ms"]), 80.000001);
  EXPECT_DOUBLE_EQ(double(kernel["max_us"]), 30000.001);
  const simdjson::dom::element copy = simdjson::dom::array(document["kernels"]).at(1);
  EXPECT_TRUE(copy["occupancy_pct"].is_null());
}

TEST_F(JsonReport, StepsSayWhatIsWarmUp) {
  const simdjson::dom::element steps = Parse(SampleReport())["steps"];
  EXPECT_EQ(std::int64_t(steps["count"]), 3);
  EXPECT_EQ(std::int64_t(steps["steady_count"]), 2);
  EXPECT_DOUBLE_EQ(double(steps["median_ms"]), 100);
  const simdjson::dom::array list = steps["list"];
  EXPECT_TRUE(bool(list.at(0)["warm_up"]));
  EXPECT_FALSE(bool(list.at(2)["warm_up"]));
  EXPECT_DOUBLE_EQ(double(list.at(2)["start_ms"]), 200);
}

TEST_F(JsonReport, SortAndLimitShapeTheNamedTableOnly) {
  const Report report = SampleReport();
  const simdjson::dom::element document = Parse(report, {"ops", {"host_self", false, 1}});
  const simdjson::dom::array ops = document["ops"];
  ASSERT_EQ(ops.size(), 1U);
  EXPECT_EQ(std::string_view(ops.at(0)["name"]), "aten::item");
  EXPECT_EQ(simdjson::dom::array(document["kernels"]).size(), 2U);
  std::ostringstream out;
  const Status bad = WriteJson(report, {"ops", {"host_slef", false, {}}}, out);
  ASSERT_FALSE(bad.has_value());
  EXPECT_TRUE(out.str().empty());
}

TEST_F(JsonReport, StableHidesFoldersAndVersion) {
  Report report = SampleReport();
  report.stable = true;
  const simdjson::dom::element document = Parse(report);
  EXPECT_EQ(std::string_view(document["trace"]["path"]), "trace.json.gz");
  EXPECT_EQ(std::string_view(document["hone_version"]), "stable");
}

TEST_F(JsonReport, AnEmptyReportIsStillADocument) {
  Report report;
  report.inputs.emplace_back();
  report.inputs.emplace_back();
  const simdjson::dom::element document = Parse(report);
  EXPECT_FALSE(std::string_view(document["timeline"]["absent"]).empty());
  EXPECT_EQ(std::int64_t(document["ranks"]["count"]), 2);
}

}  // namespace
}  // namespace hone::report
