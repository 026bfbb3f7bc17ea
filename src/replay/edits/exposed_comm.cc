// SPDX-License-Identifier: Apache-2.0
// exposed-comm: communication hides behind compute.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "replay/edits/comm_exposure.h"
#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

// Of what compute could hide. All of it is the bound that the work itself sets (no step is shorter
// than its compute or its communication); the first and the last collective of a step often find
// nothing to hide behind, and what runs beside communication slows down.
constexpr Range3 kHidden = {0.5, 1.0, 1.0};

class ExposedComm : public Edit {
 public:
  explicit ExposedComm(CommExposure exposure) : exposure_(std::move(exposure)) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    for (const CommExposure::Target& target : exposure_.targets) {
      const Nanos measured = model.graph().tasks[target.task].duration_ns;
      if (measured <= 0) continue;
      const double cut = static_cast<double>(target.exposed_ns) * target.hideable *
                         kHidden.At(guess) / static_cast<double>(measured);
      Nanos& duration = plan.duration_ns[target.task];
      duration = std::llround(static_cast<double>(duration) * std::max(0.0, 1.0 - cut));
    }
  }

  std::string Scope(const Model& model) const override {
    const auto steps = static_cast<double>(model.graph().steps);
    return fmt::format(
        "{:.2f} of {:.2f} ms a step of communication are exposed, {:.2f} ms of "
        "compute could hide them",
        exposure_.exposed_ns / 1e6 / steps, exposure_.comm_ns / 1e6 / steps,
        exposure_.free_compute_ns / 1e6 / steps);
  }

 private:
  const CommExposure exposure_;
};

}  // namespace

FoundEdit FindExposedComm(const Model& model) {
  Known<CommExposure> exposure = MeasureExposure(model);
  if (!exposure) return FoundEdit::Absent(exposure.why_not());
  if (exposure->targets.empty()) {
    return FoundEdit::Absent("compute hides all communication of the steps");
  }
  return FoundEdit(std::make_unique<ExposedComm>(std::move(*exposure)));
}

}  // namespace hone::replay
