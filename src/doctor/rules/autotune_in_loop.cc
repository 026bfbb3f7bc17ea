// SPDX-License-Identifier: Apache-2.0
// autotune-in-loop: cuDNN searches for algorithms inside the steps.
#include "replay/edits/autotune_in_loop.h"

#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "trace/record_again.h"

namespace hone::doctor {

Judgement JudgeAutotuneInLoop(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (the_case.facts.trust.present.ops == 0 || the_case.facts.trust.present.api_calls == 0) {
    return Judgement::Missing(std::string("operators and API calls are not both in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kDevice));
  }
  const replay::Model& model = the_case.whatif->model();
  const std::vector<replay::AlgorithmSearch> searches = replay::FindSearches(model);
  if (searches.empty()) return Judgement::Quiet();
  const trace::HostSlices& host = the_case.trace.host;
  const Places places(the_case);
  Nanos total = 0;
  std::uint64_t kernels = 0;
  const replay::AlgorithmSearch* longest = &searches.front();
  std::set<std::string> steps;
  for (const replay::AlgorithmSearch& search : searches) {
    total += host.duration_ns[search.op];
    kernels += search.kernels;
    if (host.duration_ns[search.op] > host.duration_ns[longest->op]) longest = &search;
    steps.insert(places.Of(search.op).step);
  }

  Finding finding;
  finding.id = "autotune-in-loop";
  finding.fix = {"autotune-in-loop"};
  finding.title = "cuDNN tries its algorithms again because shapes change";
  const auto ms = [](Nanos ns) { return ThreeDigits(static_cast<double>(ns) / 1e6); };
  finding.evidence.push_back(fmt::format(
      "{} in {} of {}: {} ms of host time, {}", Count(searches.size(), "search", "searches"),
      steps.size(), Count(model.graph().steps, "step"), ms(total), Count(kernels, "kernel")));
  finding.evidence.push_back(fmt::format(
      "the longest takes {} ms and {}, a call without a search {} ms",
      ms(host.duration_ns[longest->op]), Count(longest->kernels, "kernel"), ms(longest->calm_ns)));
  // A single step may be the first sight of a shape.
  if (steps.size() == 1 && model.graph().steps > 1) finding.confidence = Confidence::kMedium;
  finding.where.push_back(places.Of(longest->op));
  finding.remedy =
      "torch.backends.cudnn.benchmark = False   # or keep it and feed few different shapes:\n"
      "x = F.pad(x, (0, -x.shape[-1] % 64, 0, -x.shape[-2] % 64))\n";
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
