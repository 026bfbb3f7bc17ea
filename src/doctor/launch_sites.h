// SPDX-License-Identifier: Apache-2.0
// LaunchSites: which functions of the program launch the work of a step, by the lines that call its
// operators; the backward pass counts for the line of the forward operator that it belongs to.
#pragma once

#include <string_view>
#include <vector>

#include "doctor/places.h"
#include "replay/model.h"

namespace hone::doctor {

struct LaunchSite {
  std::string_view frame;            // of the line that launches most in this function
  trace::RowId row = trace::kNoRow;  // an operator of it
  double launches = 0;               // a step
  double copies = 0;                 // of these, out of the host's memory
  double repeats = 0;                // of the operator that one line calls most often, a step
  std::string_view op;               // that one
  // None of its operators multiplies with weights: what repeats is no stack of layers.
  bool plain = true;
};

// Largest first. Empty where the trace has no stacks. Linear in the steps' launches but for sorts.
std::vector<LaunchSite> FindLaunchSites(const replay::Model& model, const Places& places);

}  // namespace hone::doctor
