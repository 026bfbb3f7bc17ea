// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/decoding.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyze/facts.h"
#include "analyze/fixture_test.h"
#include "replay/whatif.h"

namespace hone::replay {
namespace {

// One step a pass of `rows` tokens of two texts: positions are looked up once for both, then 1 µs a
// token in each of three products, all in operators.
trace::Trace Passes(const std::vector<int>& rows) {
  analyze::TraceFixture f;
  Nanos t = 0;
  int number = 0;
  for (const int n : rows) {
    const Nanos length = n * 1'000;
    f.Annotation(t, 3 * length + 100, fmt::format("ProfilerStep#{}", ++number).c_str());
    f.Op(t, 50, "aten::embedding",
         {.dims = f.builder.Intern(fmt::format("[[1024, 64], [1, {}]]", n)),
          .types = f.builder.Intern("[\"float\", \"long int\"]")});
    for (int k = 0; k < 3; ++k) {
      f.Op(t + 50 + k * length, length, "aten::linear",
           {.dims = f.builder.Intern(fmt::format("[[2, {}, 64], [64, 64], [64]]", n)),
            .types = f.builder.Intern("[\"float\", \"float\", \"float\"]")});
    }
    t += 3 * length + 100;
  }
  f.builder.trace().info.record_shapes = 1;
  return f.Finish();
}

Known<Decoding> Find(const trace::Trace& trace) {
  const analyze::Facts facts = analyze::Analyze(trace);
  return FindDecoding(**Model::Build(trace, facts));
}

TEST(Decoding, RowsThatGrowByTheBatch) {
  const Known<Decoding> found = Find(Passes({100, 101, 102, 103, 104, 105}));
  ASSERT_TRUE(found) << found.why_not();
  EXPECT_EQ(found->new_rows, 2);  // batch of two, one token
  EXPECT_EQ(found->grown, 5U);
  EXPECT_EQ(found->passes.back().rows, 210);
  EXPECT_FALSE(found->passes.front().grown);
}

TEST(Decoding, ANewTextBeginsShort) {
  const Known<Decoding> found =
      Find(Passes({100, 101, 102, 103, 104, 105, 100, 101, 102, 103, 104, 105}));
  ASSERT_TRUE(found) << found.why_not();
  EXPECT_EQ(found->grown, 10U);
  EXPECT_FALSE(found->passes[6].grown);
}

TEST(Decoding, WithACacheNothingGrows) { EXPECT_FALSE(Find(Passes({1, 1, 1, 1, 1, 1}))); }

TEST(Decoding, LengthsOfBatchesAreNotDecoding) {
  EXPECT_FALSE(Find(Passes({100, 107, 93, 120, 101, 104, 99})));
  EXPECT_FALSE(Find(Passes({100, 101, 102, 103, 90, 91, 80})));  // three times only
}

TEST(Decoding, ShapesAreNeeded) {
  analyze::TraceFixture f;
  for (int i = 0; i < 5; ++i) {
    f.Annotation(i * 1'000, 1'000, fmt::format("ProfilerStep#{}", i + 1).c_str());
    f.Op(i * 1'000, 900, "aten::linear");
  }
  EXPECT_NE(Find(f.Finish()).why_not().find("record_shapes"), std::string::npos);
}

// 100 tokens, one of them new: 1 % of the operators is left at most, 50 % at least.
TEST(Decoding, PredictionStaysInsideItsRange) {
  const trace::Trace trace = Passes({100, 101, 102, 103, 104, 105});
  const analyze::Facts facts = analyze::Analyze(trace);
  const auto model = Model::Build(trace, facts);
  const WhatIf whatif(**model);
  const Prediction step = whatif.Predict({"kv-cache-unused"});
  const double first = 1.0 / 6;  // the first pass stays
  EXPECT_NEAR(step.low_ns / whatif.bare().likely_ns, first + (1 - first) * 0.01, 0.03);
  EXPECT_NEAR(step.likely_ns / whatif.bare().likely_ns, first + (1 - first) * 0.15, 0.03);
  // Brief recordings add a tenth for a clock that has not settled.
  EXPECT_NEAR(step.high_ns / whatif.bare().likely_ns, 1.1 * (first + (1 - first) * 0.5), 0.04);
}

}  // namespace
}  // namespace hone::replay
