// SPDX-License-Identifier: Apache-2.0
#include "import/nsys/diagnostics.h"

#include <gtest/gtest.h>

namespace hone::importer::nsys {
namespace {

TEST(Diagnostics, ReadsHowManyRecordsWereDropped) {
  EXPECT_EQ(DroppedRecords("1,234 CUDA events were dropped on device 0."), 1234U);
  EXPECT_EQ(DroppedRecords("CUPTI dropped 12 activity records"), 12U);
  EXPECT_EQ(DroppedRecords("Some trace data was lost: buffer was not large enough"), 1U);
}

TEST(Diagnostics, HealthyMessagesCountNothing) {
  for (const char* message :
       {"", "Profiling has started.", "Number of CUDA events collected: 28,804.",
        "Not all CUDA events might have been collected.", "0 events were dropped",
        "No events were lost.", "Process was launched by the profiler, see dropped_events.log"}) {
    EXPECT_EQ(DroppedRecords(message), 0U) << message;
  }
}

}  // namespace
}  // namespace hone::importer::nsys
