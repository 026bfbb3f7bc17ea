// SPDX-License-Identifier: Apache-2.0
#include "export/sql_database.h"

#include "export/sql_fixture_test.h"

namespace hone::exporter {
namespace {

using analyze::TraceFixture;

// Two operators, the second with an operator inside; three kernels, one that no call launched.
trace::Trace Small(std::int64_t rank = -1) {
  TraceFixture f;
  f.builder.trace().info.rank = rank;
  f.Op(100, 50, "aten::add");
  f.Api(110, 10, 1);
  f.Op(200, 90, "aten::linear", f.Shape("[[2, 2]]"));
  f.Op(210, 60, "aten::mm");
  f.Api(220, 10, 2);
  f.Kernel(130, 20, "add_kernel", 1);
  f.Kernel(240, 30, "gemm", 2);
  f.Kernel(300, 5, "orphan");
  return f.Finish();
}

TEST(SqlDatabase, AbsentIsNullAndNeverZero) {
  Asked ask;
  ask.Add(Small());
  EXPECT_EQ(ask("select recorded_rank, world_size, recorder from trace"), Rows{"NULL|NULL|NULL"});
  EXPECT_EQ(ask("select rank from trace"), Rows{"0"});
  EXPECT_EQ(ask("select api_id, op_id, top_op_id, launch_delay, bytes, launch_id, step_id "
                "from device_work where name = 'orphan'"),
            Rows{"NULL|NULL|NULL|NULL|NULL|NULL|NULL"});
  EXPECT_EQ(ask("select name, parent_id, op_detail_id, sequence, call from slice "
                "where name = 'aten::add'"),
            Rows{"aten::add|NULL|NULL|NULL|NULL"});
  EXPECT_EQ(ask("select count(*), sum(fetches) from slice"), Rows{"5|NULL"});
}

TEST(SqlDatabase, HostWorkHasNoDeviceTimeWithoutADevice) {
  TraceFixture f;
  f.Op(100, 50, "aten::add");
  Asked ask;
  ask.Add(f.Finish());
  EXPECT_EQ(ask("select device_self_dur, device_dur, kernels from slice"), Rows{"NULL|NULL|NULL"});
}

TEST(SqlDatabase, LinksAreIdsOfRows) {
  Asked ask;
  ask.Add(Small());
  EXPECT_EQ(ask("select w.name, o.name, t.name, a.name, w.launch_delay from device_work w "
                "left join slice o on o.id = w.op_id left join slice t on t.id = w.top_op_id "
                "left join slice a on a.id = w.api_id order by w.id"),
            (Rows{"add_kernel|aten::add|aten::add|cudaLaunchKernel|10",
                  "gemm|aten::mm|aten::linear|cudaLaunchKernel|10", "orphan|NULL|NULL|NULL|NULL"}));
  EXPECT_EQ(ask("select s.name, d.dims, c.name from slice s join op_detail d "
                "on d.id = s.op_detail_id join slice c on c.parent_id = s.id"),
            Rows{"aten::linear|[[2, 2]]|aten::mm"});
}

TEST(SqlDatabase, RangesOfIdsAndTimesAreThoseOfAScan) {
  Asked ask;
  ask.Add(Small());
  for (const char* table : {"slice", "device_work"}) {
    for (const char* column : {"ts", "id", "rowid"}) {
      for (const char* op : {"=", "<", "<=", ">", ">=", "is"}) {
        for (const char* value : {"1", "3", "110", "200", "210.5", "-1", "300.0", "NULL", "1e300",
                                  "x'00'", "9223372036854775807", "-9223372036854775808"}) {
          // A unary plus keeps SQLite from telling us about the constraint.
          const std::string fast =
              fmt::format("select id from {} where {} {} {} order by id", table, column, op, value);
          const std::string slow = fmt::format("select id from {} where +{} {} {} order by id",
                                               table, column, op, value);
          EXPECT_EQ(ask(fast), ask(slow)) << fast;
        }
      }
    }
    // A text that reads as a number is that number.
    for (const char* op : {"=", "<", "<=", ">", ">="}) {
      EXPECT_EQ(ask(fmt::format("select id from {} where ts {} '200'", table, op)),
                ask(fmt::format("select id from {} where ts {} 200", table, op)));
    }
  }
}

TEST(SqlDatabase, AnIndexFindsWhatAScanFinds) {
  TraceFixture f;
  for (int i = 0; i < 300; ++i) {
    f.Op(1000 * i, 900, i % 3 == 0 ? "aten::a" : "aten::A");
    f.Api(1000 * i + 10, 10, i + 1);
    f.Kernel(1000 * i + 100, 50, i % 2 == 0 ? "even" : "odd", i + 1);
  }
  Asked ask;
  ask.Add(f.Finish());
  const std::string by_op =
      "select count(*), sum(w.id * o.id) from slice o join device_work w on {}w.op_id = o.id";
  EXPECT_EQ(ask(fmt::format(fmt::runtime(by_op), "")), ask(fmt::format(fmt::runtime(by_op), "+")));
  for (int again = 0; again < 2; ++again) {  // the second time by the index
    EXPECT_EQ(ask("select count(*), min(id) from slice where name = 'aten::a'"), Rows{"100|1"});
    EXPECT_EQ(ask("select count(*) from slice where name = 'aten::a' collate nocase"), Rows{"300"});
    EXPECT_EQ(ask("select count(*) from slice where correlation = 7"), Rows{"1"});
    EXPECT_EQ(ask("select count(*) from slice where correlation = 7.0"), Rows{"1"});
    EXPECT_EQ(ask("select count(*) from slice where correlation = '7'"), Rows{"1"});
    EXPECT_EQ(ask("select count(*) from slice where name in ('aten::a', 'aten::A', 'x')"),
              Rows{"300"});
    EXPECT_EQ(ask("select count(*) from slice where parent_id is null"), Rows{"300"});
  }
}

TEST(SqlDatabase, RowsOfRanksShareTheTables) {
  Asked ask;
  ask.Add(Small(3));
  ask.Add(Small(1));
  ask.Add(Small(1));  // says the same rank: the lowest that is free
  EXPECT_EQ(ask("select id, rank, recorded_rank from trace"), (Rows{"1|3|3", "2|1|1", "3|0|1"}));
  EXPECT_EQ(ask("select rank, count(*), min(id), max(id) from slice group by rank"),
            (Rows{"0|5|11|15", "1|5|6|10", "3|5|1|5"}));
  EXPECT_EQ(ask("select count(*) from device_work w join slice o on o.id = w.op_id "
                "where o.rank <> w.rank"),
            Rows{"0"});
  EXPECT_EQ(ask("select rank, id from slice where ts = 200 order by id"),
            (Rows{"3|3", "1|8", "0|13"}));
  EXPECT_EQ(ask("select rank, id from slice where ts >= 200 and rank = 1 and kind = 'op'"),
            (Rows{"1|8", "1|9"}));
}

TEST(SqlDatabase, NothingCanBeWritten) {
  Asked ask;
  ask.Add(Small());
  for (const char* sql :
       {"insert into slice(name) values('x')", "update slice set name = 'x'", "delete from slice",
        "drop table slice", "create table x(a)", "create temp table x(a)", "attach '/tmp/x' as y",
        "pragma journal_mode = wal", "pragma query_only = 0", "begin", "vacuum into '/tmp/x'",
        "create view v as select 1", "select load_extension('/tmp/x.so')", "analyze",
        "alter table slice rename to x"}) {
    const Rows rows = ask(sql);
    ASSERT_EQ(rows.size(), 1u) << sql;
    EXPECT_NE(rows[0].find("only reads"), std::string::npos) << sql << ": " << rows[0];
  }
  EXPECT_EQ(ask("select count(*) from slice"), Rows{"5"});
  EXPECT_EQ(ask("select count(*) from pragma_table_info('step')"), Rows{"14"});
  EXPECT_EQ(ask("select sum(value) from json_each('[1, 2]')"), Rows{"3"});
}

TEST(SqlDatabase, ErrorsNameThePlaceAndTheNearestName) {
  Asked ask;
  ask.Add(Small());
  EXPECT_EQ(ask("select nmae from slice"),
            Rows{"no column nmae at character 8; did you mean name?"});
  EXPECT_EQ(ask("select s.nmae\nfrom slice s"),
            Rows{"no column s.nmae at line 1, character 8; did you mean name?"});
  EXPECT_EQ(ask("select 1 from slcie"),
            Rows{"no table slcie at character 15; did you mean slice?"});
  EXPECT_EQ(ask("select 1 from zzzzzzz"),
            Rows{"no table zzzzzzz at character 15; hone help sql lists the tables"});
  EXPECT_EQ(ask("select 1 +"),
            Rows{"the query ends too early at character 11; a word or a bracket is missing"});
  EXPECT_EQ(
      ask("selct 1"),
      Rows{"syntax error at selct at character 1; sqlite.org/lang_select.html has the grammar"});
  EXPECT_EQ(ask("select medain(dur) from slice"),
            Rows{"no function medain at character 8; sqlite.org/lang_corefunc.html lists them"});
}

TEST(SqlDatabase, HostileNamesAreTexts) {
  TraceFixture f;
  f.builder.Add(trace::SliceInput{.start_ns = 1,
                                  .duration_ns = 1,
                                  .name = f.builder.Intern(std::string_view("a\0b\xff'\"--;", 9)),
                                  .thread = f.builder.ThreadFor(1, 1)});
  f.Op(5, 1, "drop table slice; </script>");
  Asked ask;
  ask.Add(f.Finish());
  EXPECT_EQ(ask("select name, length(name) from slice order by ts"),
            (Rows{"a\xEF\xBF\xBD"
                  "b\xEF\xBF\xBD'\"--;|9",
                  "drop table slice; </script>|27"}));
}

TEST(SqlDatabase, InterruptEndsAStatement) {
  Asked ask;
  ask.Add(Small());
  SqlDatabase& database = ask.database();
  database.OnProgress([&] { database.Interrupt(); });
  EXPECT_EQ(ask("with recursive r(x) as (values(1) union all select x + 1 from r) "
                "select count(*) from r"),
            Rows{"stopped"});
  EXPECT_TRUE(database.interrupted());
  EXPECT_EQ(ask("select count(*) from slice"), Rows{"5"});
}

}  // namespace
}  // namespace hone::exporter
