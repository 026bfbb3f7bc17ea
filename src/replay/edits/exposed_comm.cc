// SPDX-License-Identifier: Apache-2.0
// comm-unoverlapped: communication hides behind compute. exposed-comm: and of what compute cannot
// hide, less is sent; where many small messages follow one another, one takes their place.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "replay/edits/comm_exposure.h"
#include "replay/edits/edits.h"
#include "replay/edits/small_messages.h"

namespace hone::replay {
namespace {

// Of what compute could hide (Hiding). All of it is the bound that the work itself sets (no step is
// shorter than its compute or its communication); what runs beside communication slows down.
constexpr Range3 kHidden = {0.5, 1.0, 1.0};
// Of what compute cannot hide. Likely: half the bytes (bf16 for fp32), or one exchange for two
// micro-batches; most: one for four; least: messages so small that only their number counts.
constexpr Range3 kSaved = {0.0, 0.5, 0.75};
constexpr Range3 kNothing = {0.0, 0.0, 0.0};

class ExposedComm : public Edit {
 public:
  ExposedComm(CommExposure exposure, Range3 saved)
      : exposure_(std::move(exposure)), saved_(saved) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    for (const CommExposure::Target& target : exposure_.targets) {
      const Nanos measured = model.graph().tasks[target.task].duration_ns;
      if (measured <= 0) continue;
      const double hidden = target.hideable * kHidden.At(guess);
      const double gone = hidden + (1.0 - target.hideable) * Saved(target.role, guess);
      // At most, nobody waited: the links alone took that long.
      const Nanos exposed =
          target.exposed_ns + (guess == Guess::kMost ? target.doubtful_ns : Nanos{0});
      const double left =
          static_cast<double>(measured) - static_cast<double>(exposed) * std::min(1.0, gone);
      // Never twice: what both words ask for hides the same time.
      Nanos& duration = plan.duration_ns[target.task];
      duration = std::min<Nanos>(duration, std::llround(std::max(0.0, left)));
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
  // Gradients and parameters can be sent smaller or less often; what layers and stages hand on
  // cannot.
  double Saved(CommRole role, Guess guess) const {
    return role == CommRole::kActivations || role == CommRole::kPipeline ? 0 : saved_.At(guess);
  }

  const CommExposure exposure_;
  const Range3 saved_;
};

class OneMessage : public Edit {
 public:
  OneMessage(const Model& model, SmallMessages found) : joined_(model, std::move(found)) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    joined_.Apply(model, guess, plan);
  }

  std::string Scope(const Model& model) const override {
    const SmallMessages& found = joined_.found();
    const auto steps = static_cast<double>(model.graph().steps);
    return fmt::format("{:.0f} small messages a step that take {:.2f} ms become {:.3g}: {:.2f} ms",
                       found.messages / steps, found.taken_ns / 1e6 / steps,
                       static_cast<double>(found.trains.size()) / steps,
                       found.one_ns.likely / 1e6 / steps);
  }

 private:
  const JoinedMessages joined_;
};

FoundEdit Find(const Model& model, Range3 saved) {
  Known<CommExposure> exposure = MeasureExposure(model);
  if (!exposure) return FoundEdit::Absent(exposure.why_not());
  if (exposure->targets.empty()) {
    return FoundEdit::Absent("compute hides all communication of the steps");
  }
  return FoundEdit(std::make_unique<ExposedComm>(std::move(*exposure), saved));
}

}  // namespace

FoundEdit FindCommUnoverlapped(const Model& model) { return Find(model, kNothing); }
FoundEdit FindExposedComm(const Model& model) {
  Known<SmallMessages> small = FindSmallMessages(model);
  if (small) return FoundEdit(std::make_unique<OneMessage>(model, std::move(*small)));
  return Find(model, kSaved);
}

}  // namespace hone::replay
