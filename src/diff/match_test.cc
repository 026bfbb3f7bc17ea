// SPDX-License-Identifier: Apache-2.0
#include "diff/match.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hone::diff {
namespace {

// Places written by hand: op, kernel, time; what they stand in, where that matters.
class Program {
 public:
  explicit Program(Names& names) : names_(names) {}

  Program& Launch(const char* op, const char* kernel, Nanos time, double count = 1,
                  const char* shape = "", const char* around = "") {
    Place place;
    place.op = names_.Intern(op);
    place.kernel = names_.Intern(kernel);
    place.shape = names_.Intern(shape);
    const PathId outer = *around == 0 ? kNoPath : names_.Inside(kNoPath, names_.Intern(around));
    place.path = *op == 0 ? outer : names_.Inside(outer, place.op);
    place.phase = Phase::kForward;
    place.first = static_cast<trace::RowId>(places.size());
    place.exposed_ns = time;
    place.amount = {count, time, time};
    places.push_back(place);
    return *this;
  }

  std::vector<Place> places;

 private:
  Names& names_;
};

class Matched : public testing::Test {
 protected:
  std::vector<PlaceChange> Match() { return MatchPlaces(before.places, after.places, names); }
  std::string Name(StringId id) const { return std::string(names[id]); }

  Names names;
  Program before{names}, after{names};
};

TEST_F(Matched, TheSameKernelInTwoPlacesIsTwoRows) {
  before.Launch("aten::add_", "add", 100, 1, "", "Optimizer.step").Launch("aten::add_", "add", 50);
  after.Launch("aten::add_", "add", 40).Launch("aten::add_", "add", 160, 1, "", "Optimizer.step");
  const auto changes = Match();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].delta_ns(), 60);
  EXPECT_EQ(names.Around(changes[0].path, 3), std::vector<std::string_view>{"Optimizer.step"});
  EXPECT_EQ(changes[1].delta_ns(), -10);
}

TEST_F(Matched, ShapesTellCallsApartWhereTheyAreRecorded) {
  before.Launch("aten::mm", "gemm", 100, 1, "[[8, 8]]")
      .Launch("aten::mm", "gemm", 500, 1, "[[64]]");
  after.Launch("aten::mm", "gemm", 500, 1, "[[64]]").Launch("aten::mm", "gemm", 130, 1, "[[8, 8]]");
  const auto changes = Match();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].delta_ns(), 30);
  EXPECT_EQ(Name(changes[0].shape), "[[8, 8]]");
  EXPECT_EQ(changes[1].delta_ns(), 0);
}

TEST_F(Matched, ShapesOfOneSideOnlyDoNotHinder) {
  before.Launch("aten::mm", "gemm", 100, 1, "[[8, 8]]")
      .Launch("aten::mm", "gemm", 500, 2, "[[64]]");
  after.Launch("aten::mm", "gemm", 610, 3);
  const auto changes = Match();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].fate, Fate::kKept);
  EXPECT_EQ(changes[0].delta_ns(), 10);
  EXPECT_EQ(changes[0].before.count, 3);
}

TEST_F(Matched, AnotherKernelOfTheSameOperatorIsAReplacement) {
  before.Launch("aten::mm", "ampere_sgemm", 900).Launch("aten::relu", "relu", 10);
  after.Launch("aten::mm", "sm90_xmma_gemm", 300).Launch("aten::relu", "relu", 10);
  const auto changes = Match();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].fate, Fate::kReplaced);
  EXPECT_EQ(Name(changes[0].kernel_before), "ampere_sgemm");
  EXPECT_EQ(Name(changes[0].kernel_after), "sm90_xmma_gemm");
  EXPECT_EQ(changes[0].delta_ns(), -600);
  EXPECT_EQ(changes[0].count_effect_ns, 0);  // there is nothing to split
}

TEST_F(Matched, OneKernelForTwoIsOneReplacement) {
  before.Launch("aten::mm", "gemm_split", 900).Launch("aten::mm", "reduce", 100);
  after.Launch("aten::mm", "fused", 700);
  const auto changes = Match();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].kernels_before, 2U);
  EXPECT_EQ(Name(changes[0].kernel_before), "gemm_split");
  EXPECT_EQ(changes[0].delta_ns(), -300);
}

TEST_F(Matched, WhatHasNoCounterpartAppearsOrVanishes) {
  before.Launch("aten::lerp_", "lerp", 40);
  after.Launch("aten::_fused_adam_", "fused_adam", 25);
  const auto changes = Match();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].fate, Fate::kVanished);
  EXPECT_EQ(changes[0].delta_ns(), -40);
  EXPECT_EQ(changes[1].fate, Fate::kAppeared);
  EXPECT_EQ(changes[1].delta_ns(), 25);
}

TEST_F(Matched, ATraceWithoutOperatorsIsMatchedByKernel) {
  before.Launch("aten::mm", "void gemm<4>(int, float*)", 90).Launch("aten::relu", "relu", 7);
  after.Launch("", "gemm<4>", 80).Launch("", "relu", 7);
  const auto changes = Match();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].fate, Fate::kKept);
  EXPECT_EQ(Name(changes[0].op_before), "aten::mm");
  EXPECT_EQ(changes[0].delta_ns(), -10);
}

TEST_F(Matched, AnotherOperatorMayLaunchTheSameKernel) {
  before.Launch("aten::mm", "gemm", 90);
  after.Launch("aten::addmm", "gemm", 80);
  const auto changes = Match();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].fate, Fate::kKept);
  EXPECT_EQ(Name(changes[0].op_after), "aten::addmm");
}

TEST_F(Matched, TheCountersOfCompiledKernelsMeanNothing) {
  before.Launch("triton_poi_fused_add_3", "triton_poi_fused_add_3", 30);
  after.Launch("triton_poi_fused_add_11", "triton_poi_fused_add_11", 35);
  const auto changes = Match();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].fate, Fate::kKept);
  EXPECT_EQ(changes[0].delta_ns(), 5);
}

TEST_F(Matched, MoreCallsAndSlowerCallsAreToldApart) {
  before.Launch("aten::mm", "gemm", 1'000, 10);  // 100 each
  after.Launch("aten::mm", "gemm", 1'800, 12);   // 150 each
  after.places[0].amount.exposed_ns = 1'700;     // 100 of it behind other work
  const auto changes = Match();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].count_effect_ns, 250);  // 2 · 125
  EXPECT_EQ(changes[0].rate_effect_ns, 550);   // 50 · 11
  EXPECT_EQ(changes[0].overlap_effect_ns, -100);
  EXPECT_EQ(changes[0].delta_ns(), 700);
}

TEST(Names, LooseNamesLeaveOutWhatRecordersDo) {
  EXPECT_EQ(LooseName("void gemm<4, float>(int, float (*)(int))"), "gemm<4,float>");
  EXPECT_EQ(LooseName("gemm<4,float>"), "gemm<4,float>");
  EXPECT_EQ(LooseName("triton_poi_fused_add_12"), "triton_poi_fused_add");
  EXPECT_EQ(LooseName("gemm_128"), "gemm_128");  // a tile, not a counter
  EXPECT_EQ(LooseName("Memcpy HtoD (Pinned -> Device)"), "MemcpyHtoD(Pinned->Device)");
  EXPECT_EQ(LooseName("(odd)"), "(odd)");
  EXPECT_EQ(LooseName(""), "");
}

}  // namespace
}  // namespace hone::diff
