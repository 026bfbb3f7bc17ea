// SPDX-License-Identifier: Apache-2.0
#include "analyze/lineage.h"

#include <gtest/gtest.h>

#include "trace/builder.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::SliceKind;

TEST(Lineage, NearestOfEachKind) {
  trace::Builder builder;
  const std::uint16_t thread = builder.ThreadFor(1, 1);
  const auto add = [&](Nanos start, Nanos duration, const char* name, SliceKind kind) {
    builder.Add(trace::SliceInput{.start_ns = start,
                                  .duration_ns = duration,
                                  .name = builder.Intern(name),
                                  .kind = kind,
                                  .thread = thread});
  };
  add(0, 100, "train.py(12): main", SliceKind::kPython);         // 0
  add(1, 90, "ProfilerStep#1", SliceKind::kAnnotation);          // 1
  add(2, 80, "nn.Module: Linear_0", SliceKind::kPython);         // 2
  add(3, 70, "<built-in function linear>", SliceKind::kPython);  // 3
  add(4, 60, "aten::linear", SliceKind::kOp);                    // 4
  add(5, 50, "aten::addmm", SliceKind::kOp);                     // 5
  add(6, 10, "cudaLaunchKernel", SliceKind::kApi);               // 6
  add(95, 2, "cudaDeviceSynchronize", SliceKind::kApi);          // 7
  add(200, 5, "cudaFree", SliceKind::kApi);                      // 8
  const trace::Trace trace = std::move(builder).Finish();
  const Lineage lineage(trace);
  EXPECT_EQ(lineage.op[6], 5U);
  EXPECT_EQ(lineage.top_op[6], 4U);
  EXPECT_EQ(lineage.annotation[6], 1U);
  EXPECT_EQ(lineage.python[6], 0U);  // the built-in has no line, the module is no function
  EXPECT_EQ(lineage.module[6], 2U);
  EXPECT_EQ(lineage.op[4], 4U);
  EXPECT_EQ(lineage.op[7], kNoRow);
  EXPECT_EQ(lineage.annotation[7], kNoRow);
  EXPECT_EQ(lineage.python[7], 0U);
  EXPECT_EQ(lineage.python[8], kNoRow);
}

TEST(Lineage, WhatHasEndedIsAroundNothing) {
  trace::Builder builder;
  const std::uint16_t thread = builder.ThreadFor(1, 1);
  const auto add = [&](Nanos start, Nanos end, SliceKind kind) {
    builder.Add(trace::SliceInput{.start_ns = start * kMicrosecond,
                                  .duration_ns = (end - start) * kMicrosecond,
                                  .name = builder.Intern("slice"),
                                  .kind = kind,
                                  .thread = thread});
  };
  add(0, 50, SliceKind::kOp);           // 0
  add(40, 100, SliceKind::kOp);         // 1: begins in it and goes on
  add(45, 90, SliceKind::kAnnotation);  // 2
  add(60, 70, SliceKind::kApi);         // 3
  add(95, 99, SliceKind::kOp);          // 4
  const trace::Trace trace = std::move(builder).Finish();
  const Lineage lineage(trace);
  EXPECT_EQ(lineage.top_op[1], 1U);
  EXPECT_EQ(lineage.op[2], 1U);
  EXPECT_EQ(lineage.annotation[3], 2U);
  EXPECT_EQ(lineage.top_op[3], 1U);
  EXPECT_EQ(lineage.annotation[4], kNoRow);
  EXPECT_EQ(lineage.top_op[4], 1U);
}

TEST(Lineage, DeepNestingIsOnePass) {
  trace::Builder builder;
  const std::uint16_t thread = builder.ThreadFor(1, 1);
  constexpr Nanos kDepth = 200'000;
  for (Nanos i = 0; i < kDepth; ++i) {
    builder.Add(trace::SliceInput{.start_ns = i,
                                  .duration_ns = 2 * kDepth - 2 * i,
                                  .name = builder.Intern("op"),
                                  .kind = SliceKind::kOp,
                                  .thread = thread});
  }
  const trace::Trace trace = std::move(builder).Finish();
  const Lineage lineage(trace);
  EXPECT_EQ(lineage.top_op[kDepth - 1], 0U);
  EXPECT_EQ(lineage.op[kDepth - 1], static_cast<trace::RowId>(kDepth - 1));
}

TEST(Lineage, EmptyTrace) {
  const trace::Trace trace = trace::Builder().Finish();
  EXPECT_EQ(Lineage(trace).op.size(), 0U);
}

}  // namespace
}  // namespace hone::analyze
