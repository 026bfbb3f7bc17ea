// SPDX-License-Identifier: Apache-2.0
#include "doctor/rank.h"

#include "replay/replayed_test.h"

namespace hone::doctor {
namespace {

using replay::Replayed;
using replay::TraceSketch;
using replay::WhatIf;

Finding Make(const char* id, std::vector<std::string> fix = {},
             Severity severity = Severity::kMedium) {
  Finding finding;
  finding.id = id;
  finding.fix = std::move(fix);
  finding.severity = severity;
  return finding;
}

// As a rule without a replay would say it.
Finding Worth(const char* id, Severity severity, double recoverable_ns) {
  Finding finding = Make(id, {}, severity);
  finding.recoverable_ns = recoverable_ns;
  return finding;
}

std::vector<std::string> Ids(const Ranking& ranking) {
  std::vector<std::string> ids;
  for (const Finding& finding : ranking.findings) ids.push_back(finding.id);
  return ids;
}
using Order = std::vector<std::string>;

// Steps that the device fills: convolutions with six conversions of layout between them, which take
// `conversions` us of 1000, and the host waits for all.
Replayed Converting(double conversions) {
  TraceSketch sketch;
  replay::MarkSteps(sketch, 4, 1100);
  std::int64_t id = 0;
  const double conversion = conversions / 6, work = (1000 - conversions) / 6;
  for (int i = 0; i < 4; ++i) {
    double host = 1001 + 1100 * i, at = host + 10;
    for (int k = 0; k < 6; ++k, host += 2) {
      sketch.Call("cudaLaunchKernel", host, host + 1, ++id);
      sketch.Kernel(at, at + conversion, id, 7, "nchwToNhwcKernel");
      at += conversion;
      sketch.Call("cudaLaunchKernel", host + 1, host + 2, ++id);
      sketch.Kernel(at, at + work, id, 7, "sm90_xmma_fprop_implicit_gemm_bf16");
      at += work;
    }
    sketch.Call("cudaDeviceSynchronize", host, 1000 + 1100 * (i + 1), ++id);
  }
  return Replayed(std::move(sketch));
}

Ranking RankConversions(double conversions) {
  const Replayed r = Converting(conversions);
  const WhatIf whatif(r.model());
  return Rank({Make("layout-conversion", {"layout-conversion"})}, &whatif);
}

TEST(Rank, SeverityIsWhatTheFixGivesBack) {
  EXPECT_TRUE(RankConversions(10).findings.empty());  // 1 %: not worth a sentence
  const auto severity = [](double conversions) {
    const Ranking ranking = RankConversions(conversions);
    return ranking.findings.empty() ? Severity::kInfo : ranking.findings[0].severity;
  };
  EXPECT_EQ(severity(40), Severity::kLow);
  EXPECT_EQ(severity(120), Severity::kMedium);
  EXPECT_EQ(severity(400), Severity::kHigh);
}

TEST(Rank, AFindingNamesItsGainAndWhatIsLeftTogether) {
  const Ranking ranking = RankConversions(400);
  ASSERT_EQ(ranking.findings.size(), 1U);
  const Finding& finding = ranking.findings[0];
  EXPECT_NEAR(*finding.recoverable_ns, 400'000, 10'000);
  EXPECT_NEAR(*finding.speedup, 1.6, 0.1);
  EXPECT_DOUBLE_EQ(*finding.speedup_after, *finding.speedup);  // nothing before it
  ASSERT_TRUE(ranking.together);
  EXPECT_DOUBLE_EQ(ranking.together->likely_ns, finding.predicted->likely_ns);
}

// Launches every 55 us, a conversion of 140 us and a product of 40 us in turn: the device sets the
// pace, until the conversions are gone.
Replayed LaunchesBehindConversions() {
  TraceSketch sketch;
  replay::MarkSteps(sketch, 4, 1100);
  std::int64_t id = 0;
  for (int i = 0; i < 4; ++i) {
    double host = 1001 + 1100 * i, at = host + 10;
    for (int k = 0; k < 12; ++k, host += 55) {
      ++id;
      const double length = k % 2 == 0 ? 140 : 40;
      sketch.Op("aten::op", host, host + 50).Launch(host + 2, id);
      sketch.Kernel(at, at + length, id, 7, k % 2 == 0 ? "nchwToNhwcKernel" : "gemm");
      at += length;
    }
    sketch.Call("cudaDeviceSynchronize", host, 1000 + 1100 * (i + 1), ++id);
  }
  return Replayed(std::move(sketch));
}

TEST(Rank, WhatTheOthersHideIsUncovered) {
  const Replayed r = LaunchesBehindConversions();
  const WhatIf whatif(r.model());
  const Finding launches = Make("launch-bound", {"launch-bound"});
  EXPECT_TRUE(Rank({launches}, &whatif).findings.empty());  // alone it gives nothing
  const Ranking ranking =
      Rank({launches, Make("layout-conversion", {"layout-conversion"})}, &whatif);
  EXPECT_EQ(Ids(ranking), (Order{"layout-conversion", "launch-bound"}));
  EXPECT_GT(*ranking.findings[1].speedup_after, 1.2);
}

// Time is saved on something that was not meant.
TEST(Rank, WrongResultsComeBeforeAnyGain) {
  const Replayed r = Converting(600);
  const WhatIf whatif(r.model());
  Finding wrong = Make("missing-zero-grad", {}, Severity::kHigh);
  const auto ids = [&] {
    return Ids(Rank({Make("layout-conversion", {"layout-conversion"}), wrong}, &whatif));
  };
  EXPECT_EQ(ids(), (Order{"layout-conversion", "missing-zero-grad"}));
  wrong.wrong_results = true;
  EXPECT_EQ(ids(), (Order{"missing-zero-grad", "layout-conversion"}));
}

TEST(Rank, WithoutAModelAFindingStaysAndSaysSo) {
  const Replayed r = Converting(400);
  const WhatIf whatif(r.model());
  const Ranking ranking = Rank({Make("memory-growth")}, &whatif);
  ASSERT_EQ(ranking.findings.size(), 1U);
  EXPECT_FALSE(ranking.findings[0].recoverable_ns);
  EXPECT_FALSE(ranking.together);
}

// The two have the same remedy, so nothing of the symptom is left once the cause is fixed.
TEST(Rank, ASymptomGoesUnderItsCause) {
  const Replayed r = Converting(400);
  const WhatIf whatif(r.model());
  const Ranking ranking = Rank({Make("unfused-elementwise", {"layout-conversion"}),
                                Make("layout-conversion", {"layout-conversion"})},
                               &whatif);
  ASSERT_EQ(Ids(ranking), Order{"layout-conversion"});
  EXPECT_EQ(ranking.findings[0].same_cause, Order{"unfused-elementwise"});
}

TEST(Rank, TheSameGainAloneMakesNoSymptom) {
  const Replayed r = Converting(400);
  const WhatIf whatif(r.model());
  const Ranking ranking = Rank({Make("blocking-copy", {"layout-conversion"}),
                                Make("layout-conversion", {"layout-conversion"})},
                               &whatif);
  ASSERT_EQ(ranking.findings.size(), 2U);
  // The second one gives nothing on top of the first.
  EXPECT_NEAR(*ranking.findings[1].speedup_after, 1, 0.001);
}

TEST(Rank, ACauseThatExplainsEnoughStandsAboveItsSymptom) {
  const auto order = [](double cause, double symptom) {
    return Ids(Rank({Worth("launch-bound", Severity::kHigh, symptom),
                     Worth("host-sync", Severity::kMedium, cause)},
                    nullptr));
  };
  EXPECT_EQ(order(5, 10), (Order{"host-sync", "launch-bound"}));
  EXPECT_EQ(order(1, 10), (Order{"launch-bound", "host-sync"}));
}

TEST(Rank, AnOptimizerMustBeMostOfTheLaunches) {
  const auto order = [](double cause) {
    return Ids(Rank({Worth("launch-bound", Severity::kHigh, 10),
                     Worth("unfused-optimizer", Severity::kMedium, cause)},
                    nullptr));
  };
  EXPECT_EQ(order(5), (Order{"launch-bound", "unfused-optimizer"}));
  EXPECT_EQ(order(8), (Order{"unfused-optimizer", "launch-bound"}));
}

TEST(Rank, ACauseThatNoModelPredictsIsTakenAtItsWord) {
  const Ranking ranking =
      Rank({Worth("launch-bound", Severity::kHigh, 10), Make("small-batch", {}, Severity::kLow)},
           nullptr);
  EXPECT_EQ(Ids(ranking), (Order{"small-batch", "launch-bound"}));
}

// Waiting for a slow rank is communication that nothing hides, under either name.
TEST(Rank, AStragglerStandsAboveTheCommunicationThatWaitsForIt) {
  for (const char* waiting : {"exposed-comm", "comm-unoverlapped"}) {
    const Ranking ranking = Rank(
        {Worth(waiting, Severity::kHigh, 10), Make("straggler", {}, Severity::kMedium)}, nullptr);
    EXPECT_EQ(Ids(ranking), (Order{"straggler", waiting}));
  }
}

TEST(Rank, UnrelatedFindingsStandBySeverity) {
  const Ranking ranking =
      Rank({Make("memory-growth", {}, Severity::kLow), Make("host-sync", {}, Severity::kHigh),
            Make("fragmentation", {}, Severity::kMedium)},
           nullptr);
  EXPECT_EQ(Ids(ranking), (Order{"host-sync", "fragmentation", "memory-growth"}));
}

TEST(Rank, TheRecorderStandsBehindWhatSurelyIsTheProgramsFault) {
  const Finding observer = Make("observer-effect", {}, Severity::kInfo);
  const Ranking behind = Rank({observer, Make("fragmentation", {}, Severity::kMedium),
                               Make("host-sync", {}, Severity::kHigh)},
                              nullptr);
  EXPECT_EQ(Ids(behind), (Order{"host-sync", "observer-effect", "fragmentation"}));
  const Ranking first = Rank({Make("fragmentation", {}, Severity::kMedium), observer}, nullptr);
  EXPECT_EQ(Ids(first), (Order{"observer-effect", "fragmentation"}));
}

}  // namespace
}  // namespace hone::doctor
