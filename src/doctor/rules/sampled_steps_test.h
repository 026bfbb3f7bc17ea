// SPDX-License-Identifier: Apache-2.0
// Small traces as hone run makes them, for tests of rules that read samples: steps on the CPU with
// Python stacks.
#pragma once

#include <string>
#include <vector>

#include "analyze/sketch_test.h"
#include "doctor/look_test.h"

namespace hone::doctor {

inline constexpr int kSteps = 10;
inline constexpr double kStep = 100'000;  // us
inline constexpr double kPause = 50'000;  // of them, with no operator

// Steps on the CPU: a pause, then one operator. Samples lie in both, 10 ms apart.
struct Stacks {
  std::vector<std::string> in_pause, in_operator;  // outermost first
};

// As recorded: a function has the line where it begins, whichever of its lines runs.
inline std::string FunctionOf(const std::string& place) {
  return place.substr(0, place.find('(')) + "(1" + place.substr(place.find(')'));
}

inline void Sample(analyze::TraceSketch& sketch, double at, const std::vector<std::string>& stack,
                   trace::ThreadState state = trace::ThreadState::kRunning, int thread = -1) {
  trace::Builder& builder = sketch.builder();
  trace::SampleInput sample;
  sample.time_ns = analyze::TraceSketch::Ns(at);
  sample.thread = thread < 0 ? builder.ThreadFor(1, analyze::TraceSketch::kMain)
                             : static_cast<std::uint16_t>(thread);
  sample.period_ns = 10 * kMillisecond;
  sample.state = state;
  std::uint32_t frame = 0;
  for (const std::string& place : stack) {
    frame = builder.AddFrame(frame, builder.Intern(FunctionOf(place)), builder.Intern(place));
  }
  sample.frame = frame;
  builder.Add(sample);
}

inline analyze::TraceSketch Steps(const Stacks& stacks) {
  analyze::TraceSketch sketch;
  for (int i = 0; i < kSteps; ++i) {
    const double begin = 1000 + i * kStep;
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 3), begin, begin + kStep);
    sketch.Op("aten::mm", begin + kPause, begin + kStep - 10);
    for (double at = 5000; at < kStep; at += 10'000) {
      const std::vector<std::string>& stack = at < kPause ? stacks.in_pause : stacks.in_operator;
      if (!stack.empty()) Sample(sketch, begin + at, stack);
    }
  }
  return sketch;
}
inline constexpr const char* kMainLine = "train.py(9): main";
inline constexpr const char* kPackages = "/usr/lib/python3/site-packages/";

}  // namespace hone::doctor
