// SPDX-License-Identifier: Apache-2.0
#include "cli/sql_complete.h"

#include <gtest/gtest.h>

namespace hone::cli {
namespace {

using Words = std::vector<std::string>;

TEST(SqlComplete, OffersTablesViewsAndKeywords) {
  EXPECT_EQ(CompleteSql("select * from device_w"), Words{"device_work"});
  EXPECT_EQ(CompleteSql("SEL"), Words{"select"});
  EXPECT_EQ(CompleteSql("select * from kernel"), (Words{"kernel_of_op", "kernels"}));
  EXPECT_EQ(CompleteSql("select zzz"), Words{});
}

TEST(SqlComplete, ColumnsAreThoseOfTheTablesNamed) {
  EXPECT_EQ(CompleteSql("select * from idle_gap where cau"), Words{"cause"});
  EXPECT_EQ(CompleteSql("select * from step where cau"), Words{});
  EXPECT_EQ(CompleteSql("select slice.once"), Words{"once_dur"});
  EXPECT_EQ(CompleteSql("select * from slice s where s.once"), Words{"once_dur"});
  EXPECT_EQ(CompleteSql("select x.occupancy"), Words{"occupancy_pct"});
}

TEST(SqlComplete, DotCommandsStandAtTheStartOnly) {
  EXPECT_EQ(CompleteSql(".sch"), Words{".schema"});
  EXPECT_EQ(CompleteSql(".schema idle"), Words{"idle_gap"});
  EXPECT_EQ(LastWord("  .sch"), ".sch");
  EXPECT_EQ(LastWord("select s.na"), "na");
  EXPECT_EQ(LastWord("select "), "");
}

}  // namespace
}  // namespace hone::cli
