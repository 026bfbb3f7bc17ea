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
  EXPECT_STREQ(RecordAgain(info, Lacking::kStall),
               "Nsight Systems does not say where, hone run does");
  EXPECT_STREQ(RecordAgain(info, Lacking::kCalls), "record with nsys profile --trace=cuda,nvtx");
}

TEST(RecordAgain, LossesNameNoOtherRecorder) {
  TraceInfo info;
  info.format = Format::kKineto;
  EXPECT_STREQ(LossHelp(info, LossKind::kUnreadableEvent),
               "the writer produced invalid JSON; a newer PyTorch fixes most causes");
  EXPECT_STREQ(LossHelp(info, LossKind::kGraphOpaque),
               "record without CUDA graphs to see their kernels");
  info.format = Format::kNsys;
  EXPECT_STREQ(LossHelp(info, LossKind::kGraphOpaque),
               "record with nsys profile --cuda-graph-trace=node to see their kernels");
  for (const Format format : {Format::kHone, Format::kNsys, Format::kKineto}) {
    info.format = format;
    for (std::size_t i = 0; i < kLossKindCount; ++i) {
      const std::string help = LossHelp(info, static_cast<LossKind>(i));
      EXPECT_FALSE(help.empty());
      if (format != Format::kNsys) {
        EXPECT_EQ(help.find("nsys"), std::string::npos) << help;
      }
      if (format != Format::kKineto) {
        EXPECT_EQ(help.find("PyTorch"), std::string::npos) << help;
        EXPECT_EQ(help.find("schedule"), std::string::npos) << help;
      }
    }
  }
}

}  // namespace
}  // namespace hone::trace
