// SPDX-License-Identifier: Apache-2.0
// Many small collectives one after another where one would do: gradients that are averaged
// parameter by parameter. Shared by the edit and the rule.
#pragma once

#include <vector>

#include "base/known.h"
#include "replay/edit.h"
#include "replay/edits/host_cut.h"
#include "replay/edits/message_trains.h"
#include "replay/model.h"

namespace hone::replay {

struct SmallMessages {
  bool on_host = false;
  std::vector<MessageTrain> trains;
  double messages = 0;  // of all trains
  double taken_ns = 0;  // by them
  Range3 one_ns;        // by those that take their place; least: the least that is saved
  Known<double> bytes = Known<double>::Absent("not recorded");  // of all trains
};

// Absent where fewer than ten follow one another, where their bytes are likely to need more than
// half of the time that they take, and where they are less than half of what collectives take in
// the steps. Linear in the host's rows and runs.
Known<SmallMessages> FindSmallMessages(const Model& model);

// The edit: one message takes the place of each train.
class JoinedMessages {
 public:
  JoinedMessages(const Model& model, SmallMessages found);
  void Apply(const Model& model, Guess guess, Plan& plan) const;
  const SmallMessages& found() const { return found_; }

 private:
  SmallMessages found_;
  HostCut cuts_[3];  // by guess
};

}  // namespace hone::replay
