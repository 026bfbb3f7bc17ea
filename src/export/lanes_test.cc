// SPDX-License-Identifier: Apache-2.0
#include "export/lanes.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace hone::exporter {
namespace {

using Ends = std::vector<std::pair<std::size_t, Nanos>>;

struct Recorder {
  Lanes lanes;
  Ends ends;
  Lanes::Place Add(Nanos start, Nanos end) {
    return lanes.Add(start, end, [&](std::size_t lane, Nanos at) { ends.emplace_back(lane, at); });
  }
};

TEST(Lanes, NestedAndFollowingSpansShareTheFirst) {
  Recorder r;
  EXPECT_EQ(r.Add(0, 100).lane, 0U);
  EXPECT_EQ(r.Add(10, 50).lane, 0U);
  EXPECT_EQ(r.Add(20, 50).lane, 0U);   // ends with its parent
  EXPECT_EQ(r.Add(50, 100).lane, 0U);  // starts where two others end
  EXPECT_EQ(r.ends, (Ends{{0, 50}, {0, 50}}));
  EXPECT_EQ(r.Add(100, 100).lane, 0U);
  EXPECT_EQ(r.ends, (Ends{{0, 50}, {0, 50}, {0, 100}, {0, 100}}));
  EXPECT_EQ(r.lanes.moved(), 0U);
}

TEST(Lanes, OverlapGoesAside) {
  Recorder r;
  r.Add(0, 100);
  EXPECT_EQ(r.Add(50, 150).lane, 1U);
  EXPECT_EQ(r.Add(60, 200).lane, 2U);
  EXPECT_EQ(r.Add(120, 140).lane, 0U);  // the first is free again
  EXPECT_EQ(r.lanes.moved(), 2U);
  EXPECT_EQ(r.lanes.cut(), 0U);
  r.ends.clear();
  r.lanes.Finish([&](std::size_t lane, Nanos at) { r.ends.emplace_back(lane, at); });
  EXPECT_EQ(r.ends, (Ends{{0, 140}, {1, 150}, {2, 200}}));
}

TEST(Lanes, CutsWhatNoLaneHolds) {
  Recorder r;
  for (Nanos i = 0; i < Nanos{Lanes::kMost}; ++i) EXPECT_EQ(r.Add(i, 1000 + i).end_ns, 1000 + i);
  const Lanes::Place place = r.Add(100, 5000);
  EXPECT_EQ(place.lane, Lanes::kMost - 1);
  EXPECT_EQ(place.end_ns, 1000 + Nanos{Lanes::kMost} - 1);
  EXPECT_EQ(r.lanes.cut(), 1U);
}

}  // namespace
}  // namespace hone::exporter
