// SPDX-License-Identifier: Apache-2.0
// input-bound: the step waits for its batch.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "doctor/rules/rules.h"

namespace hone::doctor {
namespace {

// Below this share of a step a fetch is the normal cost of taking a ready batch.
constexpr double kLeastShare = 0.02;

std::string Remedy(const analyze::LoaderFacts& loader, double step_ns) {
  if (loader.mode == analyze::LoaderMode::kInProcess) {
    // Enough workers to make a batch in the time the rest of the step takes, and one to spare.
    const double rest = std::max(step_ns - *loader.per_step_ns, 1.0);
    const double needed = std::ceil(*loader.per_step_ns / rest) + 1;
    return fmt::format(
        "DataLoader(..., num_workers={:.0f}, pin_memory=True, persistent_workers=True)\n",
        std::clamp(needed, 2.0, 16.0));
  }
  if (loader.mode == analyze::LoaderMode::kWorkers) {
    return "DataLoader(..., num_workers=2 * num_workers, prefetch_factor=4)   # as far as there "
           "are "
           "cores\n# or make __getitem__ cheaper: decode once, store tensors, augment on the GPU\n";
  }
  return "# fetch the next batch in the background while this step runs, e.g. with a DataLoader:\n"
         "DataLoader(..., num_workers=8, pin_memory=True, persistent_workers=True)\n";
}

}  // namespace

Judgement JudgeInputBound(const Case& the_case) {
  const Known<analyze::LoaderFacts>& loader = the_case.facts.loader;
  if (!loader) return Judgement::Missing(loader.why_not());
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (!loader->per_step_ns) return Judgement::Missing(loader->per_step_ns.why_not());
  const double step = the_case.step_ns();
  if (*loader->per_step_ns < kLeastShare * step) return Judgement::Quiet();

  Finding finding;
  finding.id = "input-bound";
  finding.fix = {"input-bound"};
  const double share = 100 * *loader->per_step_ns / step;
  switch (loader->mode) {
    case analyze::LoaderMode::kInProcess:
      finding.title = "data is loaded in the main process while the device waits";
      break;
    case analyze::LoaderMode::kWorkers:
      finding.title = "the loader's workers do not keep up";
      break;
    case analyze::LoaderMode::kUnknown:
      finding.title = "the step waits for its batch";
      finding.confidence = Confidence::kMedium;
      break;
  }
  finding.evidence.push_back(
      fmt::format("fetching a batch takes {:.1f} ms of a {:.1f} ms step ({:.0f} %)",
                  *loader->per_step_ns / 1e6, step / 1e6, share));
  if (loader->device_idle_ns) {
    finding.evidence.push_back(fmt::format("the device is idle for {:.1f} ms a step because of it",
                                           static_cast<double>(*loader->device_idle_ns) / 1e6 /
                                               static_cast<double>(the_case.steps())));
  }
  finding.remedy = Remedy(*loader, step);
  Place place;
  place.op = std::string(the_case.trace.Name(loader->iterator));
  finding.where.push_back(place);
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
