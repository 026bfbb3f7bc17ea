// SPDX-License-Identifier: Apache-2.0
#include "analyze/trust.h"

#include <gtest/gtest.h>

#include "analyze/fixture_test.h"
#include "import/import.h"
#include "trace/builder.h"

namespace hone::analyze {
namespace {

using trace::SliceInput;
using trace::SliceKind;
using trace::WorkInput;

// `steps` marked steps of 100 ns; each launches one kernel of 80 ns, linked to its call unless
// said otherwise.
class TrustTest : public testing::Test {
 protected:
  void Steps(int steps) {
    for (int i = 0; i < steps; ++i) {
      Host(i * 100, 100, "ProfilerStep#" + std::to_string(i), SliceKind::kAnnotation);
    }
  }
  void Host(Nanos start, Nanos duration, const std::string& name, SliceKind kind,
            std::int64_t id = 0) {
    builder_.Add(SliceInput{.start_ns = start,
                            .duration_ns = duration,
                            .name = builder_.Intern(name),
                            .kind = kind,
                            .thread = builder_.ThreadFor(1, 1),
                            .id = id});
  }
  void Kernel(Nanos start, Nanos duration, std::int64_t correlation) {
    builder_.Add(WorkInput{.start_ns = start,
                           .duration_ns = duration,
                           .name = builder_.Intern("gemm"),
                           .stream = builder_.StreamFor(0, 7),
                           .correlation = correlation});
  }
  void LinkedSteps(int steps, int with_work, const char* call = "cudaLaunchKernel") {
    Steps(steps);
    for (int i = 0; i < with_work; ++i) {
      Host(i * 100 + 1, 20, "aten::mm", SliceKind::kOp);
      Host(i * 100 + 2, 5, call, SliceKind::kApi, i + 1);
      Kernel(i * 100 + 10, 80, i + 1);
    }
  }
  TrustFacts Judge() {
    const trace::Trace trace = std::move(builder_).Finish();
    const analyze::Steps steps = FindSteps(trace);
    return JudgeTrust(trace, steps,
                      ComputeTimeline(trace, WorkClasses(trace), steps.steady_window));
  }
  static bool Says(const TrustFacts& facts, Verdict verdict, const std::string& text) {
    for (const TrustReason& reason : facts.reasons) {
      if (reason.lowers_to == verdict && reason.text.find(text) != std::string::npos) return true;
    }
    return false;
  }
  trace::Builder builder_;
};

TEST_F(TrustTest, HealthyTraceIsGood) {
  LinkedSteps(6, 6);
  const TrustFacts facts = Judge();
  EXPECT_EQ(facts.verdict, Verdict::kGood);
  EXPECT_TRUE(facts.reasons.empty());
  EXPECT_EQ(facts.steps, 6U);
  EXPECT_EQ(facts.steady_steps, 6U);
  EXPECT_FALSE(facts.warm_up_inside);
  EXPECT_EQ(facts.present.kernels, 6U);
  EXPECT_EQ(facts.present.ops, 6U);
  EXPECT_EQ(facts.present.api_calls, 6U);
  EXPECT_EQ(facts.present.annotations, 6U);
}

TEST_F(TrustTest, UnlinkedShareDecides) {
  // 6 * 80 ns linked. 10 ns unlinked: 2 % is partial; 300 ns: 38 % is poor; 4 ns: 0.8 % is fine.
  for (const auto& [extra, verdict] : {std::pair<Nanos, Verdict>{4, Verdict::kGood},
                                       {10, Verdict::kPartial},
                                       {300, Verdict::kPoor}}) {
    builder_ = trace::Builder();
    LinkedSteps(6, 6);
    Kernel(95, extra, 999);
    const TrustFacts facts = Judge();
    EXPECT_EQ(facts.verdict, verdict) << extra;
    if (verdict != Verdict::kGood) {
      EXPECT_TRUE(Says(facts, verdict, "1 of 7 pieces of device work")) << extra;
    }
  }
}

TEST_F(TrustTest, DeviceWorkInFewSteps) {
  LinkedSteps(32, 2);
  const TrustFacts facts = Judge();
  EXPECT_EQ(facts.verdict, Verdict::kPoor);
  EXPECT_TRUE(Says(facts, Verdict::kPoor, "in only 2 of 32 steps"));
}

TEST_F(TrustTest, GraphShare) {
  LinkedSteps(6, 6, "cudaGraphLaunch");
  const TrustFacts facts = Judge();
  EXPECT_EQ(facts.verdict, Verdict::kPartial);
  EXPECT_TRUE(Says(facts, Verdict::kPartial, "100 % of device time) came from CUDA graphs"));
}

TEST_F(TrustTest, InputDamage) {
  LinkedSteps(6, 6);
  builder_.trace().info.events_seen = 41'220;
  builder_.trace().losses.Add(LossKind::kTruncatedInput, 1, 0, "byte 100,000");
  const TrustFacts facts = Judge();
  EXPECT_EQ(facts.verdict, Verdict::kPoor);
  EXPECT_TRUE(Says(facts, Verdict::kPoor, "(byte 100,000); 41,220 events before it were read"));
  ASSERT_EQ(facts.losses.size(), 1U);
  EXPECT_EQ(facts.losses[0].kind, LossKind::kTruncatedInput);
  EXPECT_FALSE(facts.losses[0].time_share.has_value());
}

TEST_F(TrustTest, UnreadableEventsByShare) {
  LinkedSteps(6, 6);
  builder_.trace().info.events_seen = 1000;
  builder_.trace().losses.Add(LossKind::kUnreadableEvent, 3);
  const TrustFacts few = Judge();
  EXPECT_EQ(few.verdict, Verdict::kPartial);
  EXPECT_TRUE(Says(few, Verdict::kPartial, "3 of 1,000 events (0.3 %)"));

  builder_ = trace::Builder();
  LinkedSteps(6, 6);
  builder_.trace().info.events_seen = 1000;
  builder_.trace().losses.Add(LossKind::kUnreadableEvent, 200);
  EXPECT_EQ(Judge().verdict, Verdict::kPoor);
}

// Six steps of 100 ns, and one more so long after them.
TEST_F(TrustTest, HolesAreSaidAndLowerTheTrustWhereTheyMayBeAStallOrAreMuch) {
  const auto judged = [&](Nanos pause, const char* name) {
    builder_ = trace::Builder();
    LinkedSteps(6, 6);
    Host(600 + pause, 100, name, SliceKind::kAnnotation);
    return Judge();
  };
  EXPECT_TRUE(Says(judged(1'000, "ProfilerStep#6"), Verdict::kPartial, "a hole of 1.00 us"));
  EXPECT_FALSE(Says(judged(400, "ProfilerStep#6"), Verdict::kPartial, "a hole"));
  EXPECT_FALSE(Says(judged(0, "ProfilerStep#6"), Verdict::kPartial, "a hole"));
  EXPECT_TRUE(Says(judged(400, "ProfilerStep#16"), Verdict::kPartial, "a hole of 400 ns between "));
  EXPECT_TRUE(Says(judged(400, "ProfilerStep#16"), Verdict::kPartial, "36.4 % of the time"));
  EXPECT_TRUE(Says(judged(70, "ProfilerStep#16"), Verdict::kGood, "a hole of 70 ns between "));
  EXPECT_FALSE(Says(judged(70, "ProfilerStep#16"), Verdict::kPartial, "a hole"));
  EXPECT_FALSE(Says(judged(0, "ProfilerStep#16"), Verdict::kGood, "a hole"));
}

TEST_F(TrustTest, UnknownEventsByShare) {
  const auto judged = [&](std::uint64_t unknown) {
    builder_ = trace::Builder();
    LinkedSteps(6, 6);
    builder_.trace().info.events_seen = 1000;
    builder_.trace().losses.Add(LossKind::kUnknownEvent, unknown, 0, "hpu_kernel");
    return Judge();
  };
  EXPECT_EQ(judged(5).verdict, Verdict::kGood);
  EXPECT_TRUE(Says(judged(50), Verdict::kPartial, "first: hpu_kernel"));
  EXPECT_EQ(judged(200).verdict, Verdict::kPoor);
}

TEST_F(TrustTest, OneStepAndNoStep) {
  LinkedSteps(1, 1);
  EXPECT_TRUE(Says(Judge(), Verdict::kPartial, "only 1 steady step of 1;"));
  builder_ = trace::Builder();
  LinkedSteps(0, 2);
  EXPECT_TRUE(Says(Judge(), Verdict::kPartial, "no step marks"));
}

TEST_F(TrustTest, HostOnlyIsFineUnlessItLaunches) {
  Steps(4);
  for (int i = 0; i < 4; ++i) Host(i * 100, 50, "aten::mm", SliceKind::kOp);
  EXPECT_EQ(Judge().verdict, Verdict::kGood);
  builder_ = trace::Builder();
  Steps(4);
  Host(10, 5, "cudaLaunchKernel", SliceKind::kApi, 1);
  const TrustFacts facts = Judge();
  EXPECT_EQ(facts.verdict, Verdict::kPoor);
  EXPECT_TRUE(Says(facts, Verdict::kPoor, "no kernel records (1 launch seen)"));
}

TEST_F(TrustTest, LaunchesOfEveryVendorAreSeen) {
  for (const char* call : {"cudaLaunchCooperativeKernel", "hipModuleLaunchKernel",
                           "urEnqueueKernelLaunch", "cuGraphLaunch"}) {
    builder_ = trace::Builder();
    Steps(4);
    Host(10, 5, call, SliceKind::kApi, 1);
    EXPECT_TRUE(Says(Judge(), Verdict::kPoor, "no kernel records (1 launch seen)")) << call;
  }
  builder_ = trace::Builder();
  Steps(4);
  Host(10, 5, "cudaLaunchHostFunc", SliceKind::kApi, 1);  // runs on the host
  EXPECT_EQ(Judge().verdict, Verdict::kGood);
}

TEST_F(TrustTest, EachRecorderIsAskedForWhatIsMissing) {
  const auto judged = [&](trace::Format format, bool host) {
    builder_ = trace::Builder();
    if (host) {
      LinkedSteps(6, 6);
    } else {
      Steps(6);
    }
    for (int i = 0; i < 6; ++i) Kernel(i * 100 + 90, 9, 900 + i);
    builder_.trace().info.format = format;
    return Judge();
  };
  using trace::Format;
  EXPECT_TRUE(Says(judged(Format::kKineto, false), Verdict::kPoor,
                   "the file holds none; op tables leave them out; record with activities=["));
  EXPECT_TRUE(Says(judged(Format::kNsys, false), Verdict::kPoor,
                   "op tables leave them out; record with nsys profile --trace=cuda,nvtx"));
  EXPECT_TRUE(Says(judged(Format::kHone, false), Verdict::kPoor,
                   "op tables leave them out; record with hone run, without --collect"));
  EXPECT_TRUE(Says(judged(Format::kKineto, true), Verdict::kPartial,
                   "op tables leave them out; add a warm-up to the profiler schedule"));
  EXPECT_TRUE(Says(judged(Format::kHone, true), Verdict::kPartial,
                   "op tables leave them out; record more steps"));
}

TEST_F(TrustTest, WorstReasonFirst) {
  LinkedSteps(1, 1);
  builder_.trace().losses.Add(LossKind::kDroppedByRecorder, 12);
  const TrustFacts facts = Judge();
  ASSERT_GE(facts.reasons.size(), 2U);
  EXPECT_EQ(facts.reasons[0].lowers_to, Verdict::kPoor);
  EXPECT_NE(facts.reasons[0].text.find("12 records were dropped"), std::string::npos);
}

TEST(RealTrust, KernelsLaunchedBeforeTheWindow) {
  const std::string path = SharedPath("peers/tracelens/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz");
  HONE_SKIP_WITHOUT(path);
  const Result<trace::Trace> trace = importer::LoadKineto(path);
  ASSERT_TRUE(trace.has_value());
  const Steps steps = FindSteps(*trace);
  const auto timeline = ComputeTimeline(*trace, WorkClasses(*trace), steps.steady_window);
  const TrustFacts facts = JudgeTrust(*trace, steps, timeline);
  EXPECT_NE(facts.verdict, Verdict::kGood);
  ASSERT_FALSE(facts.reasons.empty());
  EXPECT_NE(facts.reasons[0].text.find("509 of 1,707"), std::string::npos) << facts.reasons[0].text;
}

}  // namespace
}  // namespace hone::analyze
