// SPDX-License-Identifier: Apache-2.0
#include "cli/status_line.h"

#include <gtest/gtest.h>

#include <sstream>

namespace hone::cli {
namespace {

TEST(StatusLine, StandsAtTheRightAndPutsTheCursorBack) {
  const std::string bytes = StatusLine::Draw("step 3 of 30", 80);
  EXPECT_EQ(bytes.rfind("\0337\033[68G", 0), 0U);  // the last column stays free
  EXPECT_TRUE(bytes.ends_with("\0338"));
  EXPECT_NE(bytes.find("step 3 of 30"), std::string::npos);
  EXPECT_EQ(bytes.find('\n'), std::string::npos);
}

TEST(StatusLine, LeavesHalfOfTheLineToTheProgram) {
  EXPECT_EQ(StatusLine::Draw("step 3 of 30", 24), "");
  EXPECT_EQ(StatusLine::Draw("step 3 of 30", 0), "");
}

TEST(StatusLine, NothingWithoutATerminal) {
  std::ostringstream out;
  {
    StatusLine line(out, false, -1);
    line.Show("step 3 of 30");
  }
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace hone::cli
