// SPDX-License-Identifier: Apache-2.0
#include "trace/record_again.h"

#include <gtest/gtest.h>

namespace hone::trace {
namespace {

TEST(RecordAgain, EachRecorderIsAskedInItsOwnWords) {
  TraceInfo info;
  info.format = Format::kKineto;
  EXPECT_EQ(RecordSteps(info, 8), "record more with schedule(..., active=8)");
  EXPECT_STREQ(RecordEpochEnd(info), "record an epoch's end with torch.profiler");
  info.format = Format::kHone;
  EXPECT_EQ(RecordSteps(info, 8), "record more with hone run --steps 8");
  EXPECT_STREQ(RecordEpochEnd(info), "record an epoch's end with hone run --all");
  info.format = Format::kNsys;
  EXPECT_EQ(RecordSteps(info, 8), "record 8 steps and more with nsys profile");
}

}  // namespace
}  // namespace hone::trace
