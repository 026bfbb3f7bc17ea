// SPDX-License-Identifier: Apache-2.0
#include "export/sql_schema.h"

#include <set>

#include "export/sql_fixture_test.h"
#include "import/import.h"

namespace hone::exporter {
namespace {

using analyze::TraceFixture;

TEST(SqlSchema, ViewsHaveTheColumnsThatAreDescribed) {
  TraceFixture f;
  f.Op(100, 50, "aten::add");
  Asked ask;
  ask.Add(f.Finish());
  for (const SqlView& view : AllSqlViews()) {
    Rows described;
    for (const auto& [column, what] : view.columns) described.emplace_back(column);
    EXPECT_EQ(ask(fmt::format("select name from pragma_table_info('{}')", view.name)), described)
        << view.name;
    EXPECT_EQ(ask(fmt::format("select count(*) >= 0 from {}", view.name)), Rows{"1"}) << view.name;
  }
}

TEST(SqlSchema, NamesAreUniqueAndNeedNoQuotes) {
  std::set<std::string> names;
  const auto plain = [](const std::string& name) {
    return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == std::string::npos;
  };
  for (const SqlTable& table : AllSqlTables()) {
    EXPECT_TRUE(names.insert(table.name).second) << table.name;
    EXPECT_TRUE(plain(table.name));
    std::set<std::string> columns;
    for (const SqlColumn& column : table.columns) {
      EXPECT_TRUE(columns.insert(column.name).second) << table.name << '.' << column.name;
      EXPECT_TRUE(plain(column.name)) << column.name;
    }
  }
  for (const SqlView& view : AllSqlViews()) {
    EXPECT_TRUE(names.insert(view.name).second) << view.name;
  }
}

TEST(SqlSchema, TimeOfASliceInsideItsOwnNameCountsOnce) {
  TraceFixture f;
  f.Op(100, 100, "aten::add");
  f.Op(110, 50, "aten::add");
  f.Op(120, 10, "aten::mm");
  f.Op(300, 10, "aten::add");
  Asked ask;
  ask.Add(f.Finish());
  EXPECT_EQ(ask("select name, outermost, once_dur, self_dur, depth from slice order by id"),
            (Rows{"aten::add|1|100|50|0", "aten::add|0|0|40|1", "aten::mm|1|10|10|2",
                  "aten::add|1|10|10|0"}));
}

TEST(SqlSchema, BackwardOperatorsKnowTheirForward) {
  TraceFixture f;
  const trace::OpDetail backward{.fwd_thread = 1};
  f.Op(100, 50, "aten::linear", {}, 7);
  f.Op(110, 30, "aten::addmm", {}, 7);
  f.Op(500, 40, "AddmmBackward0", backward, 7, 2);
  f.Op(600, 40, "OtherBackward0", backward, 9, 2);
  Asked ask;
  ask.Add(f.Finish());
  EXPECT_EQ(ask("select b.name, b.backward, f.name from slice b left join slice f "
                "on f.id = b.forward_id order by b.ts"),
            (Rows{"aten::linear|0|NULL", "aten::addmm|0|NULL", "AddmmBackward0|1|aten::addmm",
                  "OtherBackward0|1|NULL"}));
  EXPECT_EQ(ask("select forward, backward, calls from backward_ops"),
            Rows{"aten::addmm|AddmmBackward0|1"});
}

TEST(SqlSchema, AllocationsKnowWhatFreesThem) {
  TraceFixture f;
  f.Op(100, 50, "aten::empty");
  f.Memory(110, 1, 4 << 20, 10 << 20);
  f.Memory(120, 2, 1 << 20, 11 << 20);
  f.Memory(200, 1, -(4 << 20), 7 << 20);
  f.Memory(210, 1, 2 << 20, 9 << 20);
  f.Memory(220, 9, -(1 << 20), 8 << 20);  // allocated before the trace
  Asked ask;
  ask.Add(f.Finish());
  EXPECT_EQ(ask("select id, bytes / 1048576, allocated / 1048576, freed_by_id from memory"),
            (Rows{"1|4|10|3", "2|1|11|NULL", "3|-4|7|NULL", "4|2|9|NULL", "5|-1|8|NULL"}));
  EXPECT_EQ(ask("select peak_id, allocated_mib from memory_peak"), Rows{"2|11"});
  EXPECT_EQ(ask("select op, call_site, allocations, mib from live_at_peak"),
            Rows{"aten::empty|NULL|2|5"});
}

// The view adds up rows; the analysis has its own sums.
TEST(SqlSchema, OpsAndStepsAreThoseOfTheAnalysis) {
  auto loaded = importer::LoadTrace(
      std::string(HONE_SOURCE_DIR) + "/tests/traces/tiny_bad_light.json.gz", {});
  ASSERT_TRUE(loaded.has_value());
  Asked ask;
  ask.Add(std::move(*loaded));
  const analyze::OpTable& ops = *ask.facts(0).ops;
  const Rows rows =
      ask("select name, kind, count(*), sum(once_dur), sum(self_dur), sum(device_dur * outermost), "
          "sum(device_self_dur), sum(kernels) from slice where kind in ('op', 'annotation') "
          "group by name, kind");
  std::set<std::string> expected;
  for (const analyze::OpRow& row : ops.rows) {
    expected.insert(fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", ask.trace(0).Name(row.name),
                                row.kind == trace::SliceKind::kOp ? "op" : "annotation", row.calls,
                                row.host_total_ns, row.host_self_ns, row.device_total_ns,
                                row.device_self_ns, row.kernels));
  }
  EXPECT_EQ(std::set<std::string>(rows.begin(), rows.end()), expected);
  EXPECT_EQ(ask("select sum(dur) from idle_gap")[0],
            fmt::format("{}", ask.facts(0).timeline->main_device().whole.idle_ns));
  EXPECT_EQ(ask("select count(*), sum(dur) / count(*), max(dur) from step where not warm_up")[0],
            fmt::format("{}|{}|{}", ask.facts(0).steps.stats->count,
                        ask.facts(0).steps.stats->mean_ns, ask.facts(0).steps.stats->max_ns));
}

}  // namespace
}  // namespace hone::exporter
