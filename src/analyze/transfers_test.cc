// SPDX-License-Identifier: Apache-2.0
#include "analyze/transfers.h"

#include <gtest/gtest.h>

#include "analyze/sketch_test.h"

namespace hone::analyze {
namespace {

using trace::CopyDirection;
using trace::MemoryKind;
using trace::Trace;

Known<TransferFacts> Measure(const Trace& trace) {
  return MeasureTransfers(trace, ComputeTimeline(trace, WorkClasses(trace), {}));
}

TEST(Transfers, NoCopiesIsAbsent) {
  EXPECT_FALSE(Measure(TraceSketch().Kernel(0, 10).Finish()).has_value());
  EXPECT_FALSE(Measure(TraceSketch().Finish()).has_value());
}

TEST(Transfers, RowsByDirectionAndMemory) {
  TraceSketch sketch;
  sketch.CopyFromPageable(0, 100, 0).CopyFromPageable(200, 500, 0);  // 1 MB each
  sketch.Copy(600, 610, 0, CopyDirection::kHostToDevice, MemoryKind::kPinned, MemoryKind::kDevice,
              500'000);
  const auto facts = Measure(sketch.Finish());
  ASSERT_TRUE(facts.has_value());
  ASSERT_EQ(facts->rows.size(), 2u);
  const TransferRow& pageable = facts->rows[0];
  EXPECT_EQ(pageable.source, MemoryKind::kPageable);
  EXPECT_EQ(pageable.count, 2u);
  EXPECT_EQ(pageable.bytes, 2'000'000);
  EXPECT_EQ(pageable.total_ns, 400'000);
  EXPECT_DOUBLE_EQ(*pageable.gbytes_per_s, 5.0);
  EXPECT_DOUBLE_EQ(*facts->rows[1].gbytes_per_s, 50.0);
  EXPECT_FALSE(pageable.link_share.has_value());  // the device has no name here
  EXPECT_EQ(facts->bytes, 2'500'000);
  EXPECT_EQ(facts->total_ns, 410'000);
}

TEST(Transfers, ShareOfTheLinkOfAKnownDevice) {
  TraceSketch sketch;
  sketch.CopyFromPageable(0, 100, 0);
  sketch.Copy(200, 300, 0, CopyDirection::kDeviceToDevice, MemoryKind::kDevice, MemoryKind::kDevice,
              1'000'000);
  sketch.builder().trace().devices[sketch.builder().DeviceFor(0)].name = "NVIDIA H200";
  const auto facts = Measure(sketch.Finish());
  ASSERT_EQ(facts->rows.size(), 2u);
  for (const TransferRow& row : facts->rows) {
    if (row.direction == CopyDirection::kHostToDevice) {
      ASSERT_TRUE(row.link_share.has_value());
      EXPECT_GT(*row.link_share, 0.05);  // 10 GB/s of a PCIe 5.0 link
      EXPECT_LT(*row.link_share, 0.5);
    } else {
      EXPECT_FALSE(row.link_share.has_value());
    }
  }
}

TEST(Transfers, SizesMissingMeansNoBandwidth) {
  TraceSketch sketch;
  sketch.Copy(0, 10, 0, CopyDirection::kHostToDevice, MemoryKind::kUnknown, MemoryKind::kDevice);
  const auto facts = Measure(sketch.Finish());
  EXPECT_FALSE(facts->rows[0].gbytes_per_s.has_value());
  EXPECT_EQ(facts->rows[0].sized, 0u);
}

TEST(Transfers, SizesAreKnownWithoutDurations) {
  TraceSketch sketch;
  sketch.Copy(20, 20, 0, CopyDirection::kDeviceToHost, MemoryKind::kDevice, MemoryKind::kPinned,
              123);
  const auto facts = Measure(sketch.Finish());
  EXPECT_EQ(facts->rows[0].sized, 1u);
  EXPECT_EQ(facts->rows[0].bytes, 123);
  EXPECT_EQ(facts->rows[0].gbytes_per_s.why_not(), "these copies have no duration");
}

// Kernel 50…150 hides half of the first copy; the second copy overlaps the first by 20 and is
// given only what is new; one kernel may cover the ends of two copies.
TEST(Transfers, ExposedTimeIsHandedOutOnce) {
  TraceSketch sketch;
  sketch.Kernel(50, 150, 0, 7);
  const auto copy = [&](double begin, double end, MemoryKind source) {
    sketch.Copy(begin, end, 0, CopyDirection::kHostToDevice, source, MemoryKind::kDevice, 1, 8);
  };
  copy(0, 100, MemoryKind::kPageable);    // exposed 0…50
  copy(120, 200, MemoryKind::kPinned);    // exposed 150…200
  copy(180, 230, MemoryKind::kPageable);  // exposed 200…230
  const Trace trace = sketch.Finish();
  const auto timeline = ComputeTimeline(trace, WorkClasses(trace), {});
  const auto facts = MeasureTransfers(trace, timeline);
  Nanos pageable = 0, pinned = 0;
  for (const TransferRow& row : facts->rows) {
    (row.source == MemoryKind::kPageable ? pageable : pinned) = row.exposed_ns;
  }
  EXPECT_EQ(pageable, 80'000);
  EXPECT_EQ(pinned, 50'000);
  EXPECT_EQ(pageable + pinned, timeline->main_device().whole.exposed_copy_ns);
}

TEST(Transfers, EachDeviceHidesItsOwnCopies) {
  TraceSketch sketch;
  sketch.Kernel(0, 100);  // device 0
  trace::WorkInput copy;
  copy.kind = trace::WorkKind::kCopy;
  copy.duration_ns = 60'000;
  copy.stream = sketch.builder().StreamFor(1, 7);
  sketch.builder().Add(copy);
  EXPECT_EQ(Measure(sketch.Finish())->rows[0].exposed_ns, 60'000);
}

TEST(Transfers, EveryKindHasAName) {
  EXPECT_STREQ(DirectionName(CopyDirection::kPeerToPeer), "peer to peer");
  EXPECT_STREQ(MemoryKindName(MemoryKind::kPageable), "pageable");
  EXPECT_STREQ(MemoryKindName(MemoryKind::kUnknown), "unknown");
}

}  // namespace
}  // namespace hone::analyze
