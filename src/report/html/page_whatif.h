// SPDX-License-Identifier: Apache-2.0
// "whatif": what the page's switches need to show the step with any of them set.
#pragma once

#include "base/json_writer.h"
#include "report/report.h"

namespace hone::report {

// Every combination of so many switches is replayed beforehand.
inline constexpr std::size_t kMostSwitches = 7;

struct PageSwitch {
  std::string id, what, scope;
  replay::Prediction alone;
};

struct PageWhatIf {
  double measured_ns = 0, replayed_ns = 0, error = 0;
  replay::Prediction bare;
  Known<std::string> recorder;            // what it costs, in words
  std::vector<PageSwitch> switches;       // best alone first, at most kMostSwitches
  std::vector<replay::Prediction> steps;  // entry m: with the switches whose bit is set in m
  std::vector<PageSwitch> more;           // others that apply, best first
};

// Replays with the model of `hone whatif`, on two threads. Absent when there is nothing to replay.
Known<PageWhatIf> PrepareWhatIf(const Input& input, const analyze::SkewFacts* skew);

void WritePageWhatIf(JsonWriter& json, const Known<PageWhatIf>& whatif);

}  // namespace hone::report
