// SPDX-License-Identifier: Apache-2.0
// Time by function and line from samples of stacks. Internal to analyze/python_time.
#pragma once

#include "analyze/python_time.h"

namespace hone::analyze {

// Which samples count: those inside the steady steps as the host marked them (all, where there are
// no steps); of the thread that leads, whatever it does; of others, only those that are not
// waiting.
class CountedSamples {
 public:
  CountedSamples(const trace::Trace& trace, const Steps& steps);
  bool operator()(std::size_t sample) const;

 private:
  const trace::Trace& trace_;
  trace::IntervalSet window_;
  std::uint16_t lead_;
};

// Functions and lines by samples. Device time stays with the lines that had it from operators.
// Linear in samples and frames.
void TimeBySamples(const trace::Trace& trace, const Steps& steps, PythonFacts& facts);

}  // namespace hone::analyze
