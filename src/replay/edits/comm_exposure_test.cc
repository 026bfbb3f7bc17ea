// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/comm_exposure.h"

#include <gtest/gtest.h>

#include "analyze/facts.h"
#include "analyze/fixture_test.h"
#include "replay/whatif.h"

namespace hone::replay {
namespace {

constexpr const char* kAllReduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)";

// Steps of 1 ms: four kernels of 100 µs, a collective of `comm_us` that starts at `comm_at_us`,
// and a kernel of 100 µs that needs both.
trace::Trace Steps(double comm_at_us, double comm_us) {
  analyze::TraceFixture f;
  const auto us = [](double t) { return static_cast<Nanos>(t * 1000); };
  std::int64_t correlation = 0;
  for (int step = 0; step < 5; ++step) {
    const Nanos t = step * kMillisecond;
    f.Annotation(t, kMillisecond, ("ProfilerStep#" + std::to_string(step + 1)).c_str());
    const auto launch = [&](double at, double start, double length, const char* name,
                            int stream = 7) {
      f.Api(t + us(at), us(2), ++correlation);
      f.Kernel(t + us(start), us(length), name, correlation, 0, 0, stream);
    };
    launch(1, 5, 2, "zero");
    for (int k = 0; k < 4; ++k) launch(30 + 4 * k, 35 + 101 * k, 100, "gemm");
    launch(60, comm_at_us, comm_us, kAllReduce, 20);
    const double last = std::max(439.0, comm_at_us + comm_us) + 5;
    launch(65, last, 100, "update");
    f.Api(t + us(70), us(last + 100 + 5 - 70), ++correlation, 1, "cudaDeviceSynchronize");
  }
  return f.Finish();
}

struct Replayed {
  Known<CommExposure> exposure;
  double bare = 0, hidden = 0, less = 0;
};

Replayed Predict(const trace::Trace& trace) {
  const analyze::Facts facts = analyze::Analyze(trace);
  const auto model = Model::Build(trace, facts);
  const WhatIf whatif(**model);
  // Both words together are no more than the larger of them.
  EXPECT_DOUBLE_EQ(whatif.Predict({"exposed-comm", "comm-unoverlapped"}).likely_ns,
                   whatif.Predict({"exposed-comm"}).likely_ns);
  return {MeasureExposure(**model), whatif.bare().likely_ns,
          whatif.Predict({"comm-unoverlapped"}).likely_ns,
          whatif.Predict({"exposed-comm"}).likely_ns};
}

// 300 µs after all compute, of which there are 502 µs: all of it can be hidden.
TEST(CommExposure, ExposedTimeHidesBehindCompute) {
  const Replayed found = Predict(Steps(440, 300));
  ASSERT_TRUE(found.exposure);
  EXPECT_DOUBLE_EQ(found.exposure->exposed_ns, 5 * 300'000);
  EXPECT_DOUBLE_EQ(found.exposure->hidden_share(), 0);
  EXPECT_NEAR(found.bare - found.hidden, 300'000, 2'000);
  EXPECT_DOUBLE_EQ(found.less, found.hidden);
}

// From 290 µs on: 150 of 300 µs run beside compute already.
TEST(CommExposure, WhatIsHiddenStays) {
  const Replayed found = Predict(Steps(289, 300));
  ASSERT_TRUE(found.exposure);
  EXPECT_NEAR(found.exposure->exposed_ns / 5, 150'000, 3'000);
  EXPECT_NEAR(found.bare - found.hidden, 150'000, 4'000);
}

// 2 ms of communication and half a millisecond of compute: the step stays at least as long as the
// communication.
TEST(CommExposure, NoMoreThanThereIsCompute) {
  const trace::Trace trace = [] {
    analyze::TraceFixture f;
    for (int step = 0; step < 5; ++step) {
      const Nanos t = step * 3 * kMillisecond;
      f.Annotation(t, 3 * kMillisecond, ("ProfilerStep#" + std::to_string(step + 1)).c_str());
      f.Api(t + 1'000, 2'000, 2 * step + 1);
      f.Kernel(t + 5'000, 500'000, "gemm", 2 * step + 1);
      f.Api(t + 10'000, 2'000, 2 * step + 2);
      f.Kernel(t + 510'000, 2 * kMillisecond, kAllReduce, 2 * step + 2, 0, 0, 20);
    }
    return f.Finish();
  }();
  const Replayed found = Predict(trace);
  ASSERT_TRUE(found.exposure);
  ASSERT_FALSE(found.exposure->targets.empty());
  EXPECT_DOUBLE_EQ(found.exposure->targets[0].hideable, 0.25);
}

// Steps of 3 ms: forward 400 µs, backward 600 µs, then four all-reduces of 250 µs each, then the
// optimizer. `early`: the first two are launched in forward, where layers need them.
trace::Trace Training(const char* kernel, bool early) {
  analyze::TraceFixture f;
  std::int64_t correlation = 0, sequence = 0;
  for (int step = 0; step < 5; ++step) {
    const Nanos t = step * 3 * kMillisecond, us = kMicrosecond;
    f.Annotation(t, 3 * kMillisecond, ("ProfilerStep#" + std::to_string(step + 1)).c_str());
    Nanos host = t, device = t + 50 * us;
    const auto launch = [&](Nanos length, const char* name, int stream) {
      f.Api(host + us, us, ++correlation);
      f.Kernel(device, length, name, correlation, 0, 0, stream);
      host += 10 * us;
      device += length + us;
    };
    f.Op(host, 9 * us, "aten::mm", {}, ++sequence);
    launch(400 * us, "gemm", 7);
    for (int k = 0; early && k < 2; ++k) launch(250 * us, kernel, 20);
    f.Op(host, 9 * us, "autograd::engine::evaluate_function: MmBackward0", {}, sequence, 1);
    launch(600 * us, "gemm", 7);
    for (int k = early ? 2 : 0; k < 4; ++k) launch(250 * us, kernel, 20);
    launch(50 * us, "update", 7);
    f.Api(host, device - host, ++correlation, 1, "cudaDeviceSynchronize");
  }
  return f.Finish();
}

// Four messages of 250 µs: three quarters of them, and of the 600 µs of backward, can run side by
// side; forward comes too early and the last message too late.
TEST(CommExposure, GradientsHideBehindBackward) {
  const Replayed found = Predict(Training(kAllReduce, false));
  ASSERT_TRUE(found.exposure);
  EXPECT_TRUE(found.exposure->Mostly(CommRole::kGradients));
  EXPECT_NEAR(found.exposure->targets[0].hideable, 0.75 * 600 / 1000, 0.001);
  EXPECT_NEAR(found.bare - found.hidden, 450'000, 3'000);
}

TEST(CommExposure, NothingHidesWhatTheNextLayerNeeds) {
  for (const trace::Trace& trace :
       {Training(kAllReduce, true), Training("ncclDevKernel_AllToAll()", false)}) {
    const Replayed found = Predict(trace);
    ASSERT_TRUE(found.exposure);
    EXPECT_TRUE(found.exposure->Mostly(CommRole::kActivations));
    EXPECT_DOUBLE_EQ(found.hidden, found.bare);
    EXPECT_DOUBLE_EQ(found.less, found.bare);
  }
}

// A collective of the host on a thread of its own: 600 µs, of which an operator covers 200.
TEST(CommExposure, HostCollectivesWaitWhereNoOperatorRuns) {
  analyze::TraceFixture f;
  for (int step = 0; step < 4; ++step) {
    const Nanos t = step * kMillisecond;
    f.Annotation(t, kMillisecond, ("ProfilerStep#" + std::to_string(step + 1)).c_str());
    f.Op(t, 300'000, "aten::mm");
    f.Op(t + 350'000, 10'000, "c10d::allreduce_");
    f.Annotation(t + 100'000, 600'000, "gloo:all_reduce", {}, 2);
  }
  const Replayed found = Predict(f.Finish());
  ASSERT_TRUE(found.exposure);
  EXPECT_TRUE(found.exposure->on_host);
  EXPECT_DOUBLE_EQ(found.exposure->exposed_ns, 4 * 400'000);
  EXPECT_DOUBLE_EQ(found.exposure->free_compute_ns, 4 * 100'000);
  EXPECT_NEAR(found.bare - found.hidden, 100'000, 2'000);  // a quarter of it can be hidden
  EXPECT_NEAR(found.bare - found.less, 250'000, 2'000);    // and half of the rest saved
}

TEST(CommExposure, AbsentWithoutCollectives) {
  analyze::TraceFixture f;
  for (int step = 0; step < 3; ++step) {
    f.Annotation(step * 1'000, 1'000, ("ProfilerStep#" + std::to_string(step + 1)).c_str());
    f.Op(step * 1'000, 900, "aten::mm");
  }
  EXPECT_FALSE(Predict(f.Finish()).exposure);
}

}  // namespace
}  // namespace hone::replay
