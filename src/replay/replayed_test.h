// SPDX-License-Identifier: Apache-2.0
// A sketched trace with its facts and its model, for tests of the replay.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "analyze/sketch_test.h"
#include "replay/model.h"

namespace hone::replay {

using analyze::TraceSketch;

class Replayed {
 public:
  explicit Replayed(TraceSketch sketch)
      : trace_(sketch.Finish()),
        facts_(analyze::Analyze(trace_)),
        model_(Model::Build(trace_, facts_)) {}

  bool built() const { return model_.has_value(); }
  const std::string& why_not() const { return model_.why_not(); }
  const trace::Trace& trace() const { return trace_; }
  const Model& model() const { return **model_; }
  const Graph& graph() const { return (*model_)->graph(); }

  // The first kernel of that name; kNoTask: it is not in the graph.
  TaskId Kernel(std::string_view name) const {
    for (trace::RowId w = 0; w < trace_.device.size(); ++w) {
      if (trace_.DeviceName(w) == name) return graph().of_device[w];
    }
    ADD_FAILURE() << "no kernel " << name;
    return kNoTask;
  }
  const Task& At(TaskId task) const { return graph().tasks[task]; }
  // The task of a lane that starts then.
  TaskId Starting(std::uint16_t lane, double us) const {
    for (TaskId t = 0; t < graph().tasks.size(); ++t) {
      if (At(t).lane == lane && At(t).start_ns == TraceSketch::Ns(us)) return t;
    }
    return kNoTask;
  }

 private:
  const trace::Trace trace_;
  const analyze::Facts facts_;
  const Known<std::unique_ptr<Model>> model_;
};

// Marks of `count` steps of `length` us from 1000 us on.
inline void MarkSteps(TraceSketch& sketch, int count, double length) {
  for (int i = 0; i < count; ++i) {
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 1), 1000 + i * length,
                      1000 + (i + 1) * length);
  }
}

}  // namespace hone::replay
