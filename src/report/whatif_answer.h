// SPDX-License-Identifier: Apache-2.0
// The answer to `hone whatif`: what the step would take with some fixes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/known.h"
#include "replay/whatif.h"

namespace hone::report {

struct FixAnswer {
  std::string id, what;  // of the edit
  std::string scope;     // what it would change here
  std::string why_not;   // nothing to change here; empty when it applies
  Known<replay::Prediction> alone;
  Known<double> speedup;           // by this fix alone
  Known<replay::Prediction> upto;  // with every fix before it in the list, too
  bool applies() const { return why_not.empty(); }
};

struct WhatIfAnswer {
  double measured_ns = 0, replayed_ns = 0, error = 0;
  std::size_t steps = 0, first_step = 0, all_steps = 0;
  replay::Prediction bare;       // without the recorder; what speed-ups are counted from
  std::int64_t timed_steps = 0;  // that were timed without it; 0: it is computed
  Known<std::string> recorder;   // what it costs, in words; absent: not known
  std::vector<FixAnswer> fixes;  // in the order asked for
  replay::Prediction predicted;  // with all of them
  double speedup = 1, recoverable_ns = 0;
  bool any() const;  // of them applies
};

// `ids`: words of replay::AllEdits(). Some replays a word; each is linear in the graph.
WhatIfAnswer AnswerWhatIf(const replay::WhatIf& whatif, const std::vector<std::string_view>& ids);

}  // namespace hone::report
