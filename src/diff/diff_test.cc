// SPDX-License-Identifier: Apache-2.0
#include "diff/diff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "analyze/fixture_test.h"

namespace hone::diff {
namespace {

using analyze::TraceFixture;

struct Recording {
  trace::Trace trace;
  analyze::Facts facts;
  explicit Recording(trace::Trace made) : trace(std::move(made)), facts(analyze::Analyze(trace)) {}
  Side side() const { return {trace, facts}; }
};

// Some steps of some operators whose kernels overlap on three streams, with copies and collectives
// among them, gaps, and steps that are not of one length.
Recording RandomRun(std::uint64_t seed, int steps = 9) {
  std::mt19937_64 random(seed);
  const auto upto = [&](Nanos most) { return static_cast<Nanos>(random() % (most + 1)); };
  static constexpr const char* kOps[] = {"aten::mm", "aten::add", "aten::copy_",
                                         "c10d::allreduce_"};
  static constexpr const char* kKernels[] = {"gemm_a", "gemm_b", "vectorized_add",
                                             "ncclDevKernel_AllReduce_Sum"};
  TraceFixture trace;
  Nanos host = 1'000'000, device = 1'000'000;
  std::int64_t correlation = 1;
  for (int step = 0; step < steps; ++step) {
    const Nanos begin = host;
    const auto launches = 3 + upto(9);
    for (Nanos i = 0; i < launches; ++i) {
      const std::size_t what = random() % 4;
      const Nanos length = 20'000 + upto(30'000);
      const bool optimizer = i + 2 > launches;
      if (optimizer) trace.Annotation(host, length, "Optimizer.step#Adam.step");
      trace.Op(host, length, kOps[what],
               random() % 2 == 0 ? trace.Shape("[[8, 8]]") : trace::OpDetail{});
      trace.Api(host + 5'000, 5'000, correlation);
      device = std::max(device, host + 12'000) + upto(4'000);
      const Nanos work = 1'000 + upto(90'000);
      trace.Kernel(device, work, kKernels[random() % 4], correlation++, 0, 0,
                   7 + static_cast<int>(random() % 3));
      device += upto(work);
      host += length + upto(40'000);
    }
    host = std::max(host, device) + upto(20'000);
    trace.Annotation(begin, host - begin, ("ProfilerStep#" + std::to_string(step)).c_str());
  }
  return Recording(trace.Finish());
}

void ExpectSums(const Diff& diff) {
  ASSERT_TRUE(diff.total);
  Change parts, work, places, phases;
  const auto add = [](Change& sum, const Change& change) {
    sum.before_ns += change.before_ns;
    sum.after_ns += change.after_ns;
  };
  for (const PartChange& part : diff.parts) {
    add(parts, part.time);
    const bool is_work = part.kind != PartKind::kIdle && part.kind != PartKind::kOther;
    if (is_work) add(work, part.time);
  }
  EXPECT_EQ(parts.before_ns, diff.total->before_ns);
  EXPECT_EQ(parts.after_ns, diff.total->after_ns);
  for (const PlaceChange& place : diff.places) {
    add(places, {place.before.exposed_ns, place.after.exposed_ns});
    if (place.fate != Fate::kKept) continue;
    EXPECT_EQ(place.count_effect_ns + place.rate_effect_ns + place.overlap_effect_ns,
              place.delta_ns());
  }
  EXPECT_EQ(places.before_ns, work.before_ns);
  EXPECT_EQ(places.after_ns, work.after_ns);
  Change ops;
  for (const OpChange& op : diff.ops) add(ops, op.time);
  EXPECT_EQ(ops.before_ns, work.before_ns);
  EXPECT_EQ(ops.after_ns, work.after_ns);
  if (diff.phases) {
    for (const PhaseChange& phase : *diff.phases) add(phases, phase.time);
    EXPECT_EQ(phases.before_ns, diff.total->before_ns);
    EXPECT_EQ(phases.after_ns, diff.total->after_ns);
  }
  Nanos contributions = 0;
  for (const Contribution& cause : diff.contributions) contributions += cause.delta_ns;
  EXPECT_EQ(contributions, diff.total->delta_ns());
}

TEST(Compare, PartsSumToTheWholeWhateverOverlaps) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Recording a = RandomRun(seed),
                    b = RandomRun(seed + 1'000, 3 + static_cast<int>(seed % 5));
    const Diff diff = Compare(a.side(), b.side());
    ASSERT_EQ(diff.basis, Basis::kStep);
    ASSERT_EQ(diff.account, Account::kDevice);
    ExpectSums(diff);
  }
}

TEST(Compare, TheSameRecordingChangesNothing) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Recording a = RandomRun(seed);
    const Diff diff = Compare(a.side(), a.side());
    EXPECT_EQ(diff.step->delta_ns(), 0);
    EXPECT_EQ(diff.step->verdict, Verdict::kWithinNoise);
    EXPECT_TRUE(diff.setup.differences.empty());
    EXPECT_TRUE(diff.contributions.empty());
    for (const PartChange& part : diff.parts) EXPECT_EQ(part.time.delta_ns(), 0);
    for (const PlaceChange& place : diff.places) {
      EXPECT_EQ(place.fate, Fate::kKept);
      EXPECT_EQ(place.delta_ns(), 0);
      EXPECT_EQ(place.count_effect_ns, 0);
      EXPECT_EQ(place.rate_effect_ns, 0);
    }
  }
}

// What a change is called, and its numbers; `turned`: seen from the other side.
using Row = std::tuple<std::string, std::string, std::string, std::string, std::string, Nanos,
                       Nanos, Nanos>;
std::vector<Row> RowsOf(const Diff& diff, bool turned) {
  std::vector<Row> rows;
  const Nanos sign = turned ? -1 : 1;
  for (const PlaceChange& place : diff.places) {
    std::string a(diff.names[place.kernel_before]), b(diff.names[place.kernel_after]);
    std::string op_a(diff.names[place.op_before]), op_b(diff.names[place.op_after]);
    if (turned) std::swap(a, b), std::swap(op_a, op_b);
    rows.emplace_back(op_a, op_b, a, b, std::string(diff.names[place.shape]),
                      sign * place.delta_ns(), sign * place.count_effect_ns,
                      sign * place.rate_effect_ns);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(Compare, SwappedSidesTurnEveryChangeRound) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Recording a = RandomRun(seed), b = RandomRun(seed + 500, 8);
    const Diff there = Compare(a.side(), b.side()), back = Compare(b.side(), a.side());
    EXPECT_EQ(there.total->delta_ns(), -back.total->delta_ns());
    EXPECT_EQ(there.step->range->low_ns, -back.step->range->high_ns);
    ASSERT_EQ(there.parts.size(), back.parts.size());
    for (std::size_t i = 0; i < there.parts.size(); ++i) {
      EXPECT_EQ(there.parts[i].id, back.parts[i].id);
      EXPECT_EQ(there.parts[i].time.delta_ns(), -back.parts[i].time.delta_ns());
    }
    EXPECT_EQ(RowsOf(there, false), RowsOf(back, true));
  }
}

// Four steps of 1 ms with one 100 us kernel in each; on another stream a collective from the
// middle of it on, and nothing else.
Recording Overlapped(Nanos collective_ns) {
  TraceFixture trace;
  for (int i = 0; i < 4; ++i) {
    const Nanos at = 10'000'000 + i * 1'000'000;
    trace.Annotation(at, 1'000'000, ("ProfilerStep#" + std::to_string(i)).c_str());
    trace.Op(at + 10'000, 50'000, "aten::mm");
    trace.Api(at + 20'000, 5'000, 2 * i + 1);
    trace.Kernel(at + 30'000, 100'000, "gemm", 2 * i + 1);
    trace.Op(at + 70'000, 20'000, "c10d::allreduce_");
    trace.Api(at + 75'000, 5'000, 2 * i + 2);
    trace.Kernel(at + 80'000, collective_ns, "ncclDevKernel_AllReduce_Sum", 2 * i + 2, 0, 0, 20);
  }
  return Recording(trace.Finish());
}

TEST(Compare, WhatComputeHidesIsNotCountedTwice) {
  const Recording a = Overlapped(50'000), b = Overlapped(90'000);
  const Diff diff = Compare(a.side(), b.side());
  ExpectSums(diff);
  ASSERT_FALSE(diff.places.empty());
  const PlaceChange& nccl = diff.places[0];
  EXPECT_EQ(diff.names[nccl.kernel_after], "ncclDevKernel_AllReduce_Sum");
  EXPECT_EQ(nccl.before.sum_ns, 50'000);
  EXPECT_EQ(nccl.before.exposed_ns, 0);  // ends with the kernel
  EXPECT_EQ(nccl.after.exposed_ns, 40'000);
  EXPECT_EQ(nccl.rate_effect_ns, 40'000);
  EXPECT_EQ(nccl.overlap_effect_ns, 0);
  EXPECT_EQ(diff.step->delta_ns(), 0);  // the step is as long as before
}

Recording WithoutSteps(Nanos kernel_ns) {
  TraceFixture trace;
  for (const int i : {0, 1}) {
    trace.Op(i * 500'000, 50'000, i == 0 ? "aten::mm" : "aten::relu");
    trace.Api(i * 500'000 + 10'000, 5'000, i + 1);
    trace.Kernel(i * 500'000 + 20'000, kernel_ns, i == 0 ? "gemm" : "relu", i + 1);
  }
  return Recording(trace.Finish());
}

TEST(Compare, WithoutStepsTimesAreSharesOfASecond) {
  const Recording a = WithoutSteps(100'000), b = WithoutSteps(250'000);
  const Diff diff = Compare(a.side(), b.side());
  EXPECT_EQ(diff.basis, Basis::kSecond);
  EXPECT_EQ(diff.step.why_not(), "no steps in either recording");
  EXPECT_EQ(diff.total->before_ns, kSecond);
  EXPECT_EQ(diff.total->after_ns, kSecond);
  ExpectSums(diff);
  // 200 of the 600 us between the first and the last work, 500 of 750.
  EXPECT_EQ(diff.parts[0].id, "compute");
  EXPECT_EQ(diff.parts[0].time.before_ns, 333'333'333);
  EXPECT_EQ(diff.parts[0].time.after_ns, 666'666'667);
}

// Three steps of 1 ms: 200 us of the loader with an operator inside, an operator of 300 us that
// holds one of 100, and one of `backward_ns` on another thread.
Recording HostOnly(Nanos backward_ns) {
  TraceFixture trace;
  for (int i = 0; i < 4; ++i) {
    const Nanos at = i * 1'000'000;
    trace.Annotation(at, 1'000'000, ("ProfilerStep#" + std::to_string(i)).c_str());
    trace.Annotation(at, 200'000, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
    trace.Op(at + 50'000, 100'000, "aten::stack");
    trace.Op(at + 200'000, 300'000, "aten::linear");
    trace.Op(at + 300'000, 100'000, "aten::addmm");
    trace.Op(at + 450'000, backward_ns, "AddmmBackward0", {}, -1, 2);
  }
  return Recording(trace.Finish());
}

TEST(Compare, WithoutADeviceTheHostsOwnTimeIsCompared) {
  const Recording a = HostOnly(200'000), b = HostOnly(350'000);
  const Diff diff = Compare(a.side(), b.side());
  EXPECT_EQ(diff.account, Account::kHost);
  ExpectSums(diff);
  std::map<std::string, Change> parts, ops;
  for (const PartChange& part : diff.parts) parts[part.id] = part.time;
  for (const OpChange& op : diff.ops) ops[std::string(diff.names[op.name])] = op.time;
  EXPECT_EQ(parts["waiting-for-data"].before_ns, 200'000);
  EXPECT_EQ(ops["aten::stack"].before_ns, 0);  // inside the loader
  EXPECT_EQ(ops["aten::linear"].before_ns, 200'000);
  EXPECT_EQ(ops["aten::addmm"].before_ns, 100'000);
  EXPECT_EQ(ops["AddmmBackward0"].before_ns, 150'000);  // 50 us beside aten::linear
  EXPECT_EQ(ops["AddmmBackward0"].after_ns, 300'000);
  EXPECT_EQ(parts["outside-operators"].delta_ns(), -150'000);
  ASSERT_FALSE(diff.contributions.empty());
}

TEST(Compare, NamesWhatIsNotTheSameSetup) {
  Recording a = RandomRun(1), b = RandomRun(1, 7);
  a.trace.info.cuda_runtime_version = "12.4";
  b.trace.info.cuda_runtime_version = "13.0";
  b.trace.info.nccl_version = "2.28";  // one side only: nothing is known to differ
  const Diff diff = Compare(a.side(), b.side());
  std::vector<std::string> ids;
  for (const SetupDifference& difference : diff.setup.differences) ids.push_back(difference.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"cuda_runtime", "steps"}));
}

}  // namespace
}  // namespace hone::diff
