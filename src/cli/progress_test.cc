// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/utf8.h"

namespace hone::cli {
namespace {

TEST(Progress, LineFitsAndTellsTheRest) {
  std::ostringstream err;
  for (const std::size_t width : {40U, 80U, 200U}) {
    const Progress progress(err, true, width, true);
    const std::string line =
        progress.Line(1 << 20, 4 << 20, "a/very/long/path/" + std::string(300, 'x') + ".json", 2);
    EXPECT_LE(DisplayWidth(line), std::max<std::size_t>(width, 67));
    EXPECT_NE(line.find(" 25 %"), std::string::npos) << line;
    EXPECT_NE(line.find("6 s left"), std::string::npos) << line;
  }
}

TEST(Progress, SilentForShortWorkAndWhenOff) {
  std::ostringstream err;
  {
    Progress progress(err, true, 80, true);
    progress.Update(1, 2, "x");
  }
  {
    Progress progress(err, false, 80, true);
    progress.Update(1, 2, "x");
  }
  EXPECT_EQ(err.str(), "");
}

}  // namespace
}  // namespace hone::cli
