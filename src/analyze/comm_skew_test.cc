// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyze/comm.h"

namespace hone::analyze {
namespace {

struct Rank {
  CommFacts facts;
  Nanos step = 0;
  trace::IntervalSet steady = {};

  void Add(Nanos start, Nanos end, const char* kind = "all_reduce", const char* group = "0",
           std::int64_t sequence = -1, std::int64_t size = -1, double bytes = 64) {
    CollectiveRun run;
    run.kind = kind;
    run.group = group;
    run.sequence = sequence;
    run.group_size = size;
    run.start_ns = start;
    run.duration_ns = end - start;
    run.message_bytes = bytes;
    for (const CollectiveRun& other : facts.runs) run.order += other.group == group ? 1 : 0;
    facts.runs.push_back(run);
    facts.exposed = trace::Unite(facts.exposed, trace::IntervalSet::Union({{start, end}}));
  }
  // Compute beside the collectives.
  void Hide(Nanos begin, Nanos end) {
    facts.exposed = trace::Subtract(facts.exposed, trace::IntervalSet::Union({{begin, end}}));
  }
};

Known<SkewFacts> Measure(const std::vector<Rank>& ranks, std::size_t steps = 0) {
  std::vector<RankComm> input;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    RankComm& rank = input.emplace_back();
    rank.rank = static_cast<std::int64_t>(r);
    rank.comm = &ranks[r].facts;
    rank.median_step_ns = ranks[r].step;
    rank.steady_steps = steps;
    rank.steady = ranks[r].steady;
  }
  return MeasureSkew(input);
}

constexpr Nanos kUs = kMicrosecond;

// Two buckets under way at once: who waits for both waits once.
TEST(CommSkew, WaitsAtTheSameTimeCountOnce) {
  std::vector<Rank> ranks(2);
  ranks[0].Add(0, 500 * kUs);
  ranks[0].Add(100 * kUs, 600 * kUs);
  ranks[1].Add(300 * kUs, 500 * kUs);
  ranks[1].Add(400 * kUs, 600 * kUs);
  const auto skew = Measure(ranks);
  ASSERT_TRUE(skew);
  EXPECT_EQ(skew->straggler, 1);
  EXPECT_EQ(skew->ranks[1].wait_ns, 400 * kUs);
}

// Rank 1 keeps rank 0 waiting in every step; once, at the start, rank 0 came 100 steps late.
TEST(CommSkew, AWaitOfManyStepsDoesNotHideTheStraggler) {
  std::vector<Rank> ranks(2);
  ranks[0].step = ranks[1].step = 1'000 * kUs;
  ranks[0].Add(100'000 * kUs, 100'100 * kUs);
  ranks[1].Add(0, 100'100 * kUs);
  for (Nanos t = 101'000 * kUs; t < 111'000 * kUs; t += 1'000 * kUs) {
    ranks[0].Add(t, t + 500 * kUs);
    ranks[1].Add(t + 400 * kUs, t + 500 * kUs);
  }
  const auto skew = Measure(ranks);
  ASSERT_TRUE(skew);
  EXPECT_EQ(skew->straggler, 1);
  EXPECT_EQ(skew->ranks[0].wait_ns, 0);
  EXPECT_EQ(skew->ranks[1].wait_ns, 4'000 * kUs);
  EXPECT_EQ(skew->max_skew_ns, 100'000 * kUs);
}

// Before their steps the ranks load for differently long; and the window of rank 1 ends earlier.
TEST(CommSkew, OnlyTheSteadyStepsCount) {
  std::vector<Rank> ranks(2);
  ranks[0].step = ranks[1].step = 1'000 * kUs;
  ranks[0].Add(0, 2'100 * kUs, "broadcast");
  ranks[1].Add(2'000 * kUs, 2'100 * kUs, "broadcast");
  for (Nanos t = 3'000 * kUs; t < 9'000 * kUs; t += 1'000 * kUs) {
    ranks[0].Add(t + 100 * kUs, t + 500 * kUs);
    ranks[1].Add(t + 300 * kUs, t + 500 * kUs);
  }
  const auto whole = Measure(ranks);
  EXPECT_EQ(whole->matched, 7U);
  EXPECT_EQ(whole->max_skew_ns, 2'000 * kUs);
  ranks[0].steady.AppendSorted({3'000 * kUs, 9'000 * kUs});
  ranks[1].steady.AppendSorted({3'000 * kUs, 8'000 * kUs});
  const auto skew = Measure(ranks);
  EXPECT_EQ(skew->matched, 5U);
  EXPECT_EQ(skew->max_skew_ns, 200 * kUs);
  EXPECT_EQ(skew->ranks[0].last, 5U);
  EXPECT_EQ(skew->ranks[1].wait_ns, 1'000 * kUs);
  EXPECT_EQ(skew->ranks[1].waits[0], 2'000 * kUs);  // known all the same
  // Windows that share nothing: better all of them than none.
  ranks[1].steady = {};
  ranks[1].steady.AppendSorted({20'000 * kUs, 30'000 * kUs});
  EXPECT_EQ(Measure(ranks)->matched, 7U);
}

// Rank 1 comes 200 us late to everything; all leave together.
TEST(CommSkew, NamesTheStraggler) {
  std::vector<Rank> ranks(3);
  for (Nanos t = 0; t < 10'000 * kUs; t += 1'000 * kUs) {
    ranks[0].Add(t, t + 500 * kUs);
    ranks[1].Add(t + 200 * kUs, t + 500 * kUs);
    ranks[2].Add(t + 20 * kUs, t + 500 * kUs);
  }
  const auto skew = Measure(ranks);
  ASSERT_TRUE(skew);
  EXPECT_EQ(skew->matched, 10U);
  EXPECT_EQ(skew->unmatched, 0U);
  EXPECT_EQ(skew->mean_skew_ns, 200 * kUs);
  EXPECT_EQ(skew->p95_skew_ns, 200 * kUs);
  EXPECT_EQ(skew->max_skew_ns, 200 * kUs);
  EXPECT_EQ(skew->straggler, 1);
  EXPECT_EQ(skew->ranks[0].rank, 1);
  EXPECT_EQ(skew->ranks[0].wait_ns, 0);
  EXPECT_EQ(skew->ranks[0].last, 10U);
  EXPECT_EQ(skew->ranks[1].rank, 2);
  EXPECT_EQ(skew->ranks[1].wait_ns, 1'800 * kUs);
  EXPECT_EQ(skew->ranks[2].wait_ns, 2'000 * kUs);
  EXPECT_TRUE(skew->clocks_aligned);
  EXPECT_EQ(skew->note, "");
}

TEST(CommSkew, TakingTurnsIsNoStraggler) {
  std::vector<Rank> ranks(2);
  for (int i = 0; i < 10; ++i) {
    const Nanos t = i * 1'000 * kUs;
    ranks[0].Add(t + (i % 2 == 0 ? 200 * kUs : 0), t + 500 * kUs);
    ranks[1].Add(t + (i % 2 == 0 ? 0 : 200 * kUs), t + 500 * kUs);
  }
  const auto skew = Measure(ranks);
  EXPECT_EQ(skew->mean_skew_ns, 200 * kUs);
  EXPECT_EQ(skew->straggler, -1);
  EXPECT_TRUE(skew->uneven);
  EXPECT_DOUBLE_EQ(skew->lost.likely_ns, 1'000 * kUs);  // each waits every other time
}

TEST(CommSkew, AlwaysLastByLittleIsHealthy) {
  std::vector<Rank> ranks(2);
  for (Nanos t = 0; t < 10'000 * kUs; t += 1'000 * kUs) {
    ranks[0].Add(t, t + 500 * kUs);
    ranks[1].Add(t + 30 * kUs, t + 500 * kUs);
  }
  EXPECT_EQ(Measure(ranks)->straggler, -1);
}

// What a healthy host does once a step is a good part of the step where it is done a hundred times.
TEST(CommSkew, LittleAddsUp) {
  std::vector<Rank> ranks(2);
  ranks[0].step = ranks[1].step = 1'000 * kUs;
  for (Nanos t = 0; t < 10'000 * kUs; t += 100 * kUs) {
    ranks[0].Add(t, t + 50 * kUs);
    ranks[1].Add(t + 20 * kUs, t + 50 * kUs);
  }
  const auto skew = Measure(ranks, 10);
  EXPECT_EQ(skew->straggler, 1);
  EXPECT_DOUBLE_EQ(skew->lost.likely_ns, 200 * kUs);
}

// Bucket after bucket under way while rank 0 computes: what it waits beside that costs nothing.
TEST(CommSkew, OnlyExposedWaitingIsLost) {
  std::vector<Rank> ranks(2);
  for (Nanos t = 0; t < 10'000 * kUs; t += 1'000 * kUs) {
    ranks[0].Add(t, t + 600 * kUs);
    ranks[1].Add(t + 500 * kUs, t + 600 * kUs);
    ranks[0].Hide(t, t + 420 * kUs);
  }
  const auto skew = Measure(ranks, 10);
  EXPECT_EQ(skew->straggler, 1);
  EXPECT_EQ(skew->ranks[1].wait_ns, 5'000 * kUs);
  EXPECT_EQ(skew->ranks[1].exposed_ns, 800 * kUs);
  EXPECT_DOUBLE_EQ(skew->lost.likely_ns, 80 * kUs);
  EXPECT_EQ(skew->ranks[1].waits.front(), 500 * kUs);

  for (Nanos t = 0; t < 10'000 * kUs; t += 1'000 * kUs) ranks[0].Hide(t, t + 600 * kUs);
  EXPECT_EQ(Measure(ranks, 10)->straggler, -1);
}

// Five collectives in a row: only the first finds rank 1 late, by all of its lateness. Rank 0 is
// the last to the others, by a microsecond.
TEST(CommSkew, LastWeighsByTimeAndNotByCollectives) {
  std::vector<Rank> ranks(2);
  for (Nanos t = 0; t < 10'000 * kUs; t += 1'000 * kUs) {
    ranks[0].Add(t, t + 400 * kUs);
    ranks[1].Add(t + 300 * kUs, t + 400 * kUs);
    for (Nanos next = 400; next < 800; next += 100) {
      ranks[0].Add(t + (next + 2) * kUs, t + (next + 100) * kUs);
      ranks[1].Add(t + (next + 1) * kUs, t + (next + 100) * kUs);
    }
  }
  const auto skew = Measure(ranks, 10);
  EXPECT_EQ(skew->straggler, 1);
  EXPECT_FALSE(skew->uneven);
  EXPECT_DOUBLE_EQ(skew->lost.likely_ns, 300 * kUs);
}

// Ranks 1 and 2 both come late; once one keeps up, the other one sets the pace.
TEST(CommSkew, TheNextSlowestBoundsWhatIsLost) {
  std::vector<Rank> ranks(3);
  for (Nanos t = 0; t < 10'000 * kUs; t += 1'000 * kUs) {
    ranks[0].Add(t, t + 500 * kUs);
    ranks[1].Add(t + 400 * kUs, t + 500 * kUs);
    ranks[2].Add(t + 100 * kUs, t + 500 * kUs);
  }
  const auto skew = Measure(ranks, 10);
  EXPECT_EQ(skew->straggler, 1);
  EXPECT_DOUBLE_EQ(skew->lost.likely_ns, 300 * kUs);
  EXPECT_DOUBLE_EQ(skew->lost.most_ns, 400 * kUs);
}

// Rank 1's clock is two seconds ahead, and rank 0 is the late one.
TEST(CommSkew, ClocksMoreThanAStepApartAreBroughtTogether) {
  std::vector<Rank> ranks(2);
  const Nanos ahead = 2 * kSecond;
  for (Nanos t = 0; t < 10'000 * kUs; t += 1'000 * kUs) {
    ranks[0].Add(t + 300 * kUs, t + 500 * kUs);
    ranks[1].Add(t + ahead, t + 500 * kUs + ahead);
  }
  ranks[0].step = ranks[1].step = 100 * kMillisecond;
  const auto skew = Measure(ranks);
  EXPECT_FALSE(skew->clocks_aligned);
  EXPECT_EQ(skew->mean_skew_ns, 300 * kUs);
  EXPECT_EQ(skew->straggler, 0);
  EXPECT_NE(skew->note.find("2000 ms (rank 1)"), std::string::npos) << skew->note;
}

// Less than a step, but rank 0 would leave before rank 1 comes, which cannot be.
TEST(CommSkew, ClocksThatContradictTheCollectivesAreBroughtTogether) {
  std::vector<Rank> ranks(2);
  for (Nanos t = 0; t < 10'000 * kUs; t += 1'000 * kUs) {
    ranks[0].Add(t, t + 100 * kUs);
    ranks[1].Add(t + 3'000 * kUs, t + 3'100 * kUs);
  }
  ranks[0].step = ranks[1].step = kSecond;
  const auto skew = Measure(ranks);
  EXPECT_FALSE(skew->clocks_aligned);
  EXPECT_EQ(skew->max_skew_ns, 0);
  EXPECT_EQ(skew->straggler, -1);

  // A broadcast's root may leave before others come: nothing is proven.
  std::vector<Rank> roots(2);
  roots[0].Add(0, 100 * kUs, "broadcast");
  roots[1].Add(300 * kUs, 400 * kUs, "broadcast");
  EXPECT_TRUE(Measure(roots)->clocks_aligned);
  EXPECT_EQ(Measure(roots)->max_skew_ns, 300 * kUs);
}

TEST(CommSkew, SequenceNumbersMatchAcrossDifferentWindows) {
  std::vector<Rank> ranks(2);
  for (int i = 0; i < 5; ++i) ranks[0].Add(i * 1000, i * 1000 + 500, "all_reduce", "0", 10 + i);
  for (int i = 2; i < 7; ++i) ranks[1].Add(i * 1000 + 7, i * 1000 + 500, "all_reduce", "0", 10 + i);
  const auto skew = Measure(ranks);
  EXPECT_EQ(skew->matched, 3U);    // 12, 13, 14
  EXPECT_EQ(skew->unmatched, 4U);  // 10, 11 and 15, 16
  EXPECT_EQ(skew->max_skew_ns, 7);
}

TEST(CommSkew, OrderIsShiftedWhereOneRankRecordedMore) {
  std::vector<Rank> ranks(2);
  for (int i = 0; i < 6; ++i) ranks[0].Add(i * 1000, i * 1000 + 500);
  for (int i = 1; i < 6; ++i) ranks[1].Add(i * 1000 + 9, i * 1000 + 500);
  const auto skew = Measure(ranks);
  EXPECT_EQ(skew->matched, 5U);
  EXPECT_EQ(skew->unmatched, 1U);
  EXPECT_EQ(skew->max_skew_ns, 9);  // and not 991
}

TEST(CommSkew, KindsMustAgree) {
  std::vector<Rank> ranks(2);
  ranks[0].Add(0, 100);
  ranks[0].Add(200, 300, "broadcast");
  ranks[1].Add(0, 100);
  ranks[1].Add(200, 300, "all_gather");
  const auto skew = Measure(ranks);
  EXPECT_EQ(skew->matched, 1U);
  EXPECT_EQ(skew->unmatched, 1U);
}

TEST(CommSkew, GroupsAreComparedAmongTheirOwnRanks) {
  std::vector<Rank> ranks(4);
  for (int r = 0; r < 4; ++r) {
    ranks[r].Add(r % 2 == 0 ? 0 : 60, 100, "all_reduce", r < 2 ? "left" : "right", -1, 2);
  }
  const auto skew = Measure(ranks);
  EXPECT_EQ(skew->matched, 2U);
  EXPECT_EQ(skew->max_skew_ns, 60);

  // One name, two groups of two: it is not said who belongs together.
  std::vector<Rank> mixed(4);
  for (Rank& rank : mixed) rank.Add(0, 100, "all_reduce", "1", -1, 2);
  EXPECT_NE(Measure(mixed).why_not().find("has 2 ranks but 4"), std::string::npos);
}

TEST(CommSkew, SaysWhatIsMissing) {
  std::vector<Rank> ranks(3);
  ranks[0].Add(0, 100, "all_reduce", "0", -1, 8);
  ranks[1].Add(0, 100, "all_reduce", "0", -1, 8);
  ranks[1].Add(200, 300, "send");
  const auto skew = Measure(ranks);
  EXPECT_NE(skew->note.find("1 of 3 ranks have no collective"), std::string::npos);
  EXPECT_NE(skew->note.find("has 8 ranks, traces of 2"), std::string::npos);
  EXPECT_NE(skew->note.find("1 point-to-point"), std::string::npos);
  EXPECT_EQ(skew->ranks.size(), 2U);
}

TEST(CommSkew, Absent) {
  std::vector<Rank> one(1);
  one[0].Add(0, 100);
  EXPECT_FALSE(Measure(one));
  EXPECT_FALSE(Measure({}));
  std::vector<Rank> strangers(2);
  strangers[0].Add(0, 100, "all_reduce", "a");
  strangers[1].Add(0, 100, "all_reduce", "b");
  EXPECT_EQ(Measure(strangers).why_not(), "the ranks have no collective in common");
  const RankComm none[2];
  EXPECT_FALSE(MeasureSkew(none));
}

TEST(CommSkew, AbsurdTimesDoNotOverflow) {
  std::vector<Rank> ranks(2);
  ranks[0].Add(INT64_MIN + 1, INT64_MIN + 6);
  ranks[1].Add(INT64_MAX - 1, INT64_MAX - 1);
  ranks[1].facts.runs[0].duration_ns = INT64_MAX;
  ranks[0].step = 1;
  EXPECT_TRUE(Measure(ranks));
}

}  // namespace
}  // namespace hone::analyze
