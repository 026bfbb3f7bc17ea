// SPDX-License-Identifier: Apache-2.0
// What the tests of steps share: a trace written down mark by mark, and the steps found in it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "analyze/steps.h"
#include "trace/builder.h"

namespace hone::analyze {

class StepsTest : public testing::Test {
 protected:
  void Mark(Nanos start, Nanos end, const std::string& name,
            trace::SliceKind kind = trace::SliceKind::kAnnotation, std::int64_t tid = 1,
            std::int64_t link = -1) {
    builder_.Add(trace::SliceInput{.start_ns = start,
                                   .duration_ns = end - start,
                                   .name = builder_.Intern(name),
                                   .kind = kind,
                                   .thread = builder_.ThreadFor(1, tid),
                                   .link = link});
  }
  void Kernel(Nanos start, Nanos end, const std::string& name, std::int64_t stream = 7,
              std::int64_t correlation = 0) {
    builder_.Add(trace::WorkInput{.start_ns = start,
                                  .duration_ns = end - start,
                                  .name = builder_.Intern(name),
                                  .stream = builder_.StreamFor(0, stream),
                                  .correlation = correlation});
  }
  void Launch(Nanos start, std::int64_t correlation) {
    builder_.Add(trace::SliceInput{.start_ns = start,
                                   .duration_ns = 500,
                                   .name = builder_.Intern("cudaLaunchKernel"),
                                   .kind = trace::SliceKind::kApi,
                                   .thread = builder_.ThreadFor(1, 1),
                                   .id = correlation});
  }
  void Operators(Nanos at, int count) {
    for (int i = 0; i < count; ++i) Mark(at + i, at + i + 1, "aten::add_", trace::SliceKind::kOp);
  }
  // `before` operators, then an optimizer's step of 10 with `inside`; 50 in all.
  void AdamStep(Nanos at, int before, int inside) {
    Operators(at, before);
    Mark(at + 30, at + 40, "Optimizer.step#Adam.step");
    Operators(at + 31, inside);
  }
  Steps Find() {
    trace_ = std::move(builder_).Finish();
    return FindSteps(trace_);
  }
  trace::Builder builder_;
  trace::Trace trace_;
};

}  // namespace hone::analyze
