// SPDX-License-Identifier: Apache-2.0
// unfused-optimizer: a loop over parameters, several launches each.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "doctor/rules/rules.h"

namespace hone::doctor {
namespace {

// Of torch.optim (2.13): those with one kernel for all parameters, and those with one for many.
constexpr auto kFused = std::to_array<std::string_view>({"Adam", "AdamW", "SGD", "Adagrad"});
constexpr auto kForeach = std::to_array<std::string_view>(
    {"Adadelta", "Adafactor", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"});

bool Contains(const auto& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Others than torch's have neither switch.
void Advise(std::string_view name, bool on_device, Finding& finding) {
  if (Contains(kFused, name)) {
    // Older ones raise an error: torch 1.13.1 and 2.1.2 did, 2.4.1 took a step.
    finding.remedy = fmt::format("torch.optim.{}(..., fused=True){}\n", name,
                                 on_device ? "" : "   # on the CPU: torch 2.4 or newer");
    return;
  }
  if (Contains(kForeach, name)) {
    finding.remedy = fmt::format("torch.optim.{}(..., foreach=True)\n", name);
    return;
  }
  finding.effort = Effort::kFewLines;
  finding.remedy =
      "torch._foreach_mul_(averages, beta)   # lists of tensors, one call for all parameters\n"
      "torch._foreach_add_(parameters, updates, alpha=-lr)\n"
      "# or: step = torch.compile(optimizer.step); or an optimizer of torch.optim, fused=True\n";
}

}  // namespace

Judgement JudgeUnfusedOptimizer(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  const auto& edit = the_case.whatif->Find("unfused-optimizer");
  if (!edit) return Judgement::Quiet();
  const replay::Model& model = the_case.whatif->model();

  Finding finding;
  finding.id = "unfused-optimizer";
  finding.fix = {"unfused-optimizer"};
  finding.effort = Effort::kOneWord;
  // "Optimizer.step#Adam.step"
  std::string name = "Adam";
  if (!model.optimizer_steps().empty()) {
    const replay::OptimizerStep& step = model.optimizer_steps().front();
    const std::string_view mark = the_case.trace.HostName(step.row);
    const std::size_t hash = mark.find('#'), dot = mark.rfind('.');
    if (hash != std::string_view::npos && dot != std::string_view::npos && dot > hash) {
      name = std::string(mark.substr(hash + 1, dot - hash - 1));
    }
    Place place;
    place.op = std::string(mark);
    place.start_ns = step.begin_ns;
    place.duration_ns = the_case.trace.host.end_ns(step.row) - step.begin_ns;
    finding.where.push_back(place);
  }
  const bool on_device = the_case.trace.device.size() > 0;
  finding.title = on_device ? fmt::format("{} launches many small kernels for its parameters", name)
                            : fmt::format("{} updates its parameters one operator at a time", name);
  finding.evidence.push_back((*edit)->Scope(model));
  Advise(name, on_device, finding);
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
