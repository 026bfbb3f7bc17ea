// SPDX-License-Identifier: Apache-2.0
#include "analyze/comm_transfer.h"

#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

CollectiveRun Sent(double bytes, Nanos duration, const char* kind = "all_reduce") {
  CollectiveRun run;
  run.kind = kind;
  run.duration_ns = duration;
  run.message_bytes = bytes > 0 ? Known<double>(bytes) : Known<double>::Absent("not recorded");
  return run;
}

std::vector<Nanos> Bound(std::vector<CollectiveRun> runs) {
  CommFacts comm;
  comm.runs = std::move(runs);
  return BoundTransfers(comm);
}

TEST(CommTransfer, TheShortestOfASizeBoundsTheOthers) {
  EXPECT_EQ(Bound({Sent(64, 100), Sent(64, 900), Sent(64, 120)}),
            (std::vector<Nanos>{100, 100, 100}));
}

TEST(CommTransfer, ALargerMessageBoundsASmallerOne) {
  EXPECT_EQ(Bound({Sent(32, 500), Sent(64, 100)}), (std::vector<Nanos>{100, 100}));
}

// Two of 64 bytes one after another take 200.
TEST(CommTransfer, SeveralSmallerOnesBoundALargerOne) {
  EXPECT_EQ(Bound({Sent(128, 900), Sent(64, 100)}), (std::vector<Nanos>{200, 100}));
}

TEST(CommTransfer, KindsAndUnknownSizesAreTheirOwn) {
  EXPECT_EQ(Bound({Sent(64, 900), Sent(64, 100, "all_gather"), Sent(0, 300), Sent(0, 200)}),
            (std::vector<Nanos>{900, 100, 200, 200}));
  EXPECT_TRUE(Bound({}).empty());
}

}  // namespace
}  // namespace hone::analyze
