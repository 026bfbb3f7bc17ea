// SPDX-License-Identifier: Apache-2.0
#include "trace/finish.h"

#include <gtest/gtest.h>

#include "trace/builder.h"

namespace hone::trace {
namespace {

class FinishTest : public ::testing::Test {
 protected:
  void Slice(const char* name, SliceKind kind, Nanos start, Nanos end, std::int64_t id = 0,
             std::int64_t tid = 1) {
    SliceInput slice;
    slice.name = builder_.Intern(name);
    slice.kind = kind;
    slice.start_ns = start;
    slice.duration_ns = end - start;
    slice.id = id;
    slice.thread = builder_.ThreadFor(100, tid);
    builder_.Add(slice);
  }
  void Work(Nanos start, Nanos end, std::int64_t correlation, std::int64_t external = 0,
            std::int64_t stream = 7) {
    WorkInput work;
    work.name = builder_.Intern("kernel");
    work.start_ns = start;
    work.duration_ns = end - start;
    work.correlation = correlation;
    work.external_id = external;
    work.stream = builder_.StreamFor(0, stream);
    builder_.Add(work);
  }
  Trace Done() { return std::move(builder_).Finish(); }
  Builder builder_;
};

TEST_F(FinishTest, SortsByThreadStartAndLengthAndFindsParents) {
  Slice("late", SliceKind::kOp, 50'000, 60'000, 0, 2);
  Slice("inner", SliceKind::kOp, 20'000, 30'000);
  Slice("outer", SliceKind::kOp, 20'000, 90'000);
  Slice("after", SliceKind::kOp, 90'000, 95'000);
  const Trace trace = Done();
  const char* expected[] = {"late", "outer", "inner", "after"};
  for (RowId i = 0; i < 4; ++i) EXPECT_EQ(trace.HostName(i), expected[i]);
  EXPECT_EQ(trace.host.parent[2], 1U);
  EXPECT_EQ(trace.host.parent[3], kNoRow);
  EXPECT_EQ(trace.threads[1].first_slice, 1U);
  EXPECT_EQ(trace.threads[1].last_slice, 4U);
}

TEST_F(FinishTest, LinksWorkToItsCallAndTheInnermostOperator) {
  Slice("outer", SliceKind::kOp, 0, 100'000);
  Slice("inner", SliceKind::kOp, 10'000, 50'000);
  Slice("launch", SliceKind::kApi, 20'000, 25'000, 5);
  Work(40'000, 45'000, 5);
  Work(60'000, 65'000, 99);
  const Trace trace = Done();
  EXPECT_EQ(trace.HostName(trace.device.api[0]), "launch");
  EXPECT_EQ(trace.HostName(trace.device.op[0]), "inner");
  EXPECT_EQ(trace.device.api[1], kNoRow);
  EXPECT_EQ(trace.losses[LossKind::kUnlinkedDeviceWork].count, 1U);
  EXPECT_EQ(trace.losses[LossKind::kUnlinkedDeviceWork].time_ns, 5'000);
}

TEST_F(FinishTest, AnOperatorThatHasEndedLaunchesNothingForWhatGoesOn) {
  Slice("outer", SliceKind::kOp, 0, 100'000);
  Slice("ended", SliceKind::kOp, 10'000, 20'000);
  Slice("range", SliceKind::kAnnotation, 15'000, 90'000);  // begins in it and goes on
  Slice("launch", SliceKind::kApi, 16'000, 17'000, 1);
  Slice("launch", SliceKind::kApi, 30'000, 31'000, 2);
  Slice("launch", SliceKind::kApi, 40'000, 41'000, 3);
  for (int id = 1; id <= 3; ++id) Work(50'000 + 1'000 * id, 50'500 + 1'000 * id, id);
  const Trace trace = Done();
  EXPECT_EQ(trace.HostName(trace.device.op[0]), "ended");
  EXPECT_EQ(trace.HostName(trace.device.op[1]), "outer");
  EXPECT_EQ(trace.HostName(trace.device.op[2]), "outer");
}

// prof.step(): its frame begins in one step and ends in the next.
TEST_F(FinishTest, ASliceIsInsideOfWhatHoldsAllOfIt) {
  Slice("loop", SliceKind::kPython, 0, 300'000);
  Slice("step 0", SliceKind::kAnnotation, 1'000, 100'000);
  Slice("prof.step", SliceKind::kPython, 95'000, 105'000);
  Slice("inside", SliceKind::kPython, 96'000, 97'000);
  Slice("step 1", SliceKind::kAnnotation, 102'000, 200'000);
  Slice("op", SliceKind::kOp, 103'000, 180'000);
  Slice("call", SliceKind::kApi, 179'000, 190'000, 1);  // another clock
  const Trace trace = Done();
  const char* parents[] = {"", "loop", "loop", "prof.step", "loop", "step 1", "op"};
  for (RowId i = 0; i < trace.host.size(); ++i) {
    const RowId parent = trace.host.parent[i];
    EXPECT_EQ(parent == kNoRow ? "" : trace.HostName(parent), parents[i]) << trace.HostName(i);
  }
  EXPECT_EQ(trace.losses[LossKind::kCrossingSlices].count, 3U);
}

TEST_F(FinishTest, OfTwoThatAreAlikeTheCallIsInside) {
  Slice("call", SliceKind::kApi, 10'000, 20'000, 1);
  Slice("op", SliceKind::kOp, 10'000, 20'000);
  Work(30'000, 31'000, 1);
  const Trace trace = Done();
  EXPECT_EQ(trace.HostName(0), "op");
  EXPECT_EQ(trace.HostName(trace.device.op[0]), "op");
}

TEST_F(FinishTest, MoreThreadsThanCanBeToldApartAreCounted) {
  constexpr int kMost = 65'534;
  for (int tid = 0; tid < kMost + 3; ++tid) {
    Slice("op", SliceKind::kOp, 1'000 * tid, 1'000 * tid + 500, 0, tid);
  }
  const Trace trace = Done();
  EXPECT_EQ(trace.threads.size(), static_cast<std::size_t>(kMost));
  EXPECT_EQ(trace.losses[LossKind::kCrowdedTable].count, 3U);
}

TEST_F(FinishTest, ExternalIdHelpsWhereTheCallIsMissingAndLosesAConflict) {
  Slice("named", SliceKind::kOp, 0, 10'000, 42);
  Slice("around", SliceKind::kOp, 20'000, 40'000, 43);
  Slice("launch", SliceKind::kApi, 25'000, 26'000, 5);
  Work(30'000, 31'000, 77, 42);  // no call in the file
  Work(32'000, 33'000, 5, 42);   // the call says "around", the id says "named"
  const Trace trace = Done();
  EXPECT_EQ(trace.HostName(trace.device.op[0]), "named");
  EXPECT_EQ(trace.HostName(trace.device.op[1]), "around");
  EXPECT_EQ(trace.losses[LossKind::kLinkConflict].count, 1U);
}

TEST_F(FinishTest, AReusedCorrelationGoesToTheLatestCallBefore) {
  Slice("first", SliceKind::kApi, 10'000, 11'000, 5);
  Slice("second", SliceKind::kApi, 50'000, 51'000, 5);
  Work(20'000, 21'000, 5);
  Work(60'000, 61'000, 5);
  const Trace trace = Done();
  EXPECT_EQ(trace.HostName(trace.device.api[0]), "first");
  EXPECT_EQ(trace.HostName(trace.device.api[1]), "second");
  EXPECT_EQ(trace.losses[LossKind::kAmbiguousCorrelation].count, 1U);
}

TEST_F(FinishTest, AnOperatorThatEndedLaunchesNothing) {
  Slice("op", SliceKind::kOp, 0, 100'000);
  Slice("range", SliceKind::kAnnotation, 50'000, 300'000);  // crosses the end of op
  Slice("inside", SliceKind::kApi, 60'000, 61'000, 1);
  Slice("outside", SliceKind::kApi, 200'000, 201'000, 2);
  Work(70'000, 71'000, 1);
  Work(210'000, 211'000, 2);
  const Trace trace = Done();
  EXPECT_EQ(trace.losses[LossKind::kCrossingSlices].count, 1U);
  EXPECT_EQ(trace.HostName(trace.device.op[0]), "op");
  EXPECT_EQ(trace.device.op[1], kNoRow);
}

TEST_F(FinishTest, AGraphKernelBelongsToTheOperatorThatCapturedItsNode) {
  Slice("captured", SliceKind::kOp, 0, 100'000);
  Slice("", SliceKind::kGraphNode, 50'000, 50'000, 7);       // made inside the operator
  Slice("", SliceKind::kGraphNode, 150'000, 150'000, 8, 1);  // its copy, made at instantiation
  Slice("replay", SliceKind::kOp, 200'000, 300'000);
  Slice("cudaGraphLaunch", SliceKind::kApi, 210'000, 220'000, 5);
  builder_.trace().host.link[2] = 7;
  for (const std::int64_t node : {7, 8, 9}) {
    WorkInput work;
    work.start_ns = 220'000 + node;
    work.duration_ns = 1'000;
    work.correlation = 5;
    work.stream = builder_.StreamFor(0, 7);
    work.graph = builder_.Node({1, node});
    builder_.Add(work);
  }
  const Trace trace = Done();
  EXPECT_EQ(trace.HostName(trace.device.op[0]), "captured");
  EXPECT_EQ(trace.HostName(trace.device.op[1]), "captured");
  EXPECT_EQ(trace.HostName(trace.device.op[2]), "replay");  // nobody says where node 9 comes from
}

TEST_F(FinishTest, OneMadDurationDoesNotDecideEverything) {
  for (int i = 0; i < 10; ++i) Work(i * 10'000, i * 10'000 + 5'000, 0);
  Work(50'000, 900'000'000'000, 0, 0, 8);
  const Trace trace = Done();
  EXPECT_EQ(trace.losses[LossKind::kImplausibleDuration].count, 1U);
  Nanos total = 0;
  for (const Nanos duration : trace.device.duration_ns) total += duration;
  EXPECT_EQ(total, 50'000);
}

TEST_F(FinishTest, OneLongKernelAmongShortOnesIsBelieved) {
  for (int i = 0; i < 10; ++i) Work(i * 10'000, i * 10'000 + 5'000, 0);
  Work(100'000, 50'000'000, 0);
  Slice("host", SliceKind::kOp, 0, 51'000'000);  // the host waits for it
  const Trace trace = Done();
  EXPECT_EQ(trace.losses[LossKind::kImplausibleDuration].count, 0U);
}

// A program of 10 ms whose last operator takes 95 s.
TEST_F(FinishTest, ALongOperatorIsBelievedWhereAnotherEndsWithIt) {
  const auto cut = [&](Nanos outer_end, Nanos inner_end, Nanos around_end) {
    builder_ = Builder();
    Slice("aten::randn", SliceKind::kOp, 0, 9'000'000);
    Slice("around", SliceKind::kAnnotation, 9'500'000, around_end);
    Slice("aten::linalg_svd", SliceKind::kOp, 10'000'000, outer_end);
    Slice("aten::_linalg_svd", SliceKind::kOp, 10'010'000, inner_end);
    return Done().losses[LossKind::kImplausibleEnd].count;
  };
  EXPECT_EQ(cut(95 * kSecond, 95 * kSecond - 1'000, 96 * kSecond), 0U);
  EXPECT_EQ(cut(95 * kSecond, 10'020'000, 95 * kSecond + kSecond / 2), 0U);
  EXPECT_EQ(cut(95 * kSecond, 94 * kSecond + kSecond / 2, 200 * kSecond), 0U);
  EXPECT_EQ(cut(95 * kSecond, 10'020'000, 200 * kSecond), 2U);  // no two agree
  EXPECT_EQ(cut(95 * kSecond, 10'020'000, 96 * kSecond), 2U);   // by over 1 %
  EXPECT_EQ(cut(95 * kSecond, 10'020'000, 11'000'000), 1U);     // alone
  // Both outlive what is around them.
  EXPECT_EQ(cut(95 * kSecond, 95 * kSecond - 1'000, 11'000'000), 2U);
}

// A hang: an all-reduce that waits for minutes, and the host with it.
TEST_F(FinishTest, ALongKernelIsBelievedWhereTheHostWaitsForIt) {
  const auto cut = [&](Nanos work_end, Nanos wait_end, bool more_work) {
    builder_ = Builder();
    for (int i = 0; i < 10; ++i) Work(i * 10'000, i * 10'000 + 5'000, 0);
    Slice("aten::mm", SliceKind::kOp, 0, 80'000);
    Work(100'000, work_end, 0);
    Slice("cudaStreamSynchronize", SliceKind::kApi, 101'000, wait_end);
    if (more_work) Work(110'000, 111'000, 0);
    const Trace trace = Done();
    return trace.losses[LossKind::kImplausibleDuration].count * 10 +
           trace.losses[LossKind::kImplausibleEnd].count;
  };
  EXPECT_EQ(cut(600 * kSecond, 600 * kSecond + 100, false), 0U);
  EXPECT_EQ(cut(500 * kSecond, 600 * kSecond, false), 0U);        // it waits for more than that
  EXPECT_EQ(cut(600 * kSecond, 102'000, false), 10U);             // nobody waits
  EXPECT_EQ(cut(600 * kSecond, 400 * kSecond, false), 11U);       // they contradict each other
  EXPECT_EQ(cut(600 * kSecond, 600 * kSecond + 100, true), 11U);  // its stream went on
}

TEST_F(FinishTest, WhatLiesFarAwayInTimeIsLeftOut) {
  constexpr Nanos kThen = 1'700'000'000 * kSecond;
  for (int i = 0; i < 10; ++i) Work(kThen + i * 10'000, kThen + i * 10'000 + 5'000, 0);
  Work(0, 1'000, 0);
  Slice("late", SliceKind::kOp, 2 * kThen, 2 * kThen + 1);
  const Trace trace = Done();
  EXPECT_EQ(trace.losses[LossKind::kFarTime].count, 2U);
  EXPECT_EQ(trace.device.size(), 10U);
  EXPECT_EQ(trace.host.size(), 0U);
}

TEST_F(FinishTest, FarAwayIsOverADayAndAThousandTimesTheRest) {
  constexpr Nanos kDay = 86'400 * kSecond;
  const auto far = [&](Nanos before, Nanos span) {
    builder_ = Builder();
    for (int i = 0; i < 10; ++i) Work(kDay * 9 + i * span / 9, kDay * 9 + i * span / 9 + 1, 0);
    Slice("start", SliceKind::kOp, kDay * 9 - before, kDay * 9 - before + 1);
    return Done().losses[LossKind::kFarTime];
  };
  EXPECT_EQ(far(kDay / 2, 900).count, 0U);  // a server that waits for its first request
  EXPECT_EQ(far(2 * kDay, 900).count, 1U);
  EXPECT_EQ(far(2 * kDay, 900).first_detail, "start 48 h 00 min away");
  EXPECT_EQ(far(2 * kDay, 900 * kSecond).count, 0U);
}

TEST_F(FinishTest, ASecondCycleIsNotFarAway) {
  for (int i = 0; i < 10; ++i) Work(i, i + 1, 0);
  for (int i = 0; i < 5; ++i) Work(200'000 * kSecond + i, 200'000 * kSecond + i + 1, 0);
  const Trace trace = Done();
  EXPECT_EQ(trace.losses[LossKind::kFarTime].count, 0U);
  EXPECT_EQ(trace.device.size(), 15U);
}

TEST_F(FinishTest, OverlapOnOneStreamIsCountedOnceWithItsTime) {
  Work(0, 10'000, 0);
  Work(8'000, 12'000, 0);
  Work(9'000, 11'000, 0, 0, 8);  // another stream
  const Trace trace = Done();
  EXPECT_EQ(trace.losses[LossKind::kStreamOverlap].count, 1U);
  EXPECT_EQ(trace.losses[LossKind::kStreamOverlap].time_ns, 2'000);
}

TEST(Builder, RefusesTimesThatWouldOverflow) {
  Builder builder;
  Nanos duration = 5;
  EXPECT_TRUE(builder.Admit(0, duration, "x"));
  EXPECT_FALSE(builder.Admit(Builder::kLatest, duration, "x"));
  duration = Builder::kMostTogether;
  EXPECT_FALSE(builder.Admit(0, duration, "x"));
  duration = -3;
  EXPECT_TRUE(builder.Admit(0, duration, "x"));
  EXPECT_EQ(duration, 0);
  EXPECT_EQ(builder.trace().losses[LossKind::kBadTime].count, 2U);
  EXPECT_EQ(builder.trace().losses[LossKind::kNegativeDuration].count, 1U);
}

TEST(Builder, KeepsEqualDetailsOnce) {
  Builder builder;
  OpDetail detail;
  EXPECT_EQ(builder.Detail(detail), 0U);
  detail.dims = builder.Intern("[[1]]");
  EXPECT_EQ(builder.Detail(detail), 1U);
  EXPECT_EQ(builder.Detail(detail), 1U);
  detail.stream = 3;
  EXPECT_EQ(builder.Detail(detail), 2U);
}

}  // namespace
}  // namespace hone::trace
