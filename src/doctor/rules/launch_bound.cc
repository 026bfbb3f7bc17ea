// SPDX-License-Identifier: Apache-2.0
// launch-bound: the device waits for the host to launch.
#include <fmt/format.h>

#include <vector>

#include "analyze/source_frame.h"
#include "base/text.h"
#include "doctor/launch_sites.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "doctor/rules/step_facts.h"

namespace hone::doctor {
namespace {

// Below this a larger batch is not worth what it changes about the training.
constexpr double kWorthABatch = 1.15;

// The other remedy, with its own prediction: as many launches for more samples.
void OfferLargerBatch(const replay::WhatIf& whatif, bool trains, Finding& finding) {
  constexpr const char* kOther = "small-batch";
  const double bare = whatif.bare().likely_ns;
  const auto& edit = whatif.Find(kOther);
  const replay::Prediction larger = edit ? whatif.Predict({kOther}) : replay::Prediction{};
  const double gain = larger.likely_ns > 0 ? bare / larger.likely_ns : 1;
  if (gain < kWorthABatch || larger.samples <= 1 ||
      whatif.SureGain({kOther}) < (1 - 1 / kWorthABatch) * bare) {
    finding.remedy += "# or a larger batch\n";
    return;
  }
  const char* what = trains ? "samples/s" : "requests/s";
  finding.instead.push_back({kOther, larger, gain});
  finding.evidence.push_back(fmt::format(
      "{:.1f}x the {} predicted with a batch {:.0f} times as large", gain, what, larger.samples));
  finding.remedy +=
      fmt::format("# or a batch {:.0f} times as large: {:.1f}x the {} predicted{}\n",
                  larger.samples, gain, what, trains ? "; it changes the training" : "");
}

// Of the launches, what a function must make to be named.
constexpr double kWorthNaming = 0.2;
constexpr std::size_t kMostNamed = 3;
// A line that calls one operator so often, in a function that launches this much of a step and
// multiplies with no weights, goes over elements, time steps or samples: no model has as many
// layers.
constexpr double kLoopRepeats = 100, kLoopShare = 0.5;

std::string Rounded(double count) { return WithThousands(static_cast<std::int64_t>(count + 0.5)); }

// Of what a loop launches, this much out of the host's memory, and it makes tensors one by one.
constexpr double kCopiesShare = 0.3;

// For a loop the place is the remedy.
void NameLoop(const LaunchSite& site, double launches, Finding& finding) {
  const std::string_view function = analyze::WrittenFunction(analyze::ParseFrame(site.frame));
  finding.evidence.push_back(
      fmt::format("{} is called there {} times a step", site.op, Rounded(site.repeats)));
  if (site.copies >= kLoopRepeats && site.copies >= kCopiesShare * site.launches) {
    finding.title = fmt::format("a loop in or around {} copies {} small tensors to the device",
                                function, Rounded(site.copies));
    finding.remedy =
        "x = pad_sequence([torch.tensor(row) for row in rows], batch_first=True)   # on the host\n"
        "x = x.pin_memory().to(\"cuda\", non_blocking=True)   # one copy in place of them\n" +
        finding.remedy;
    return;
  }
  finding.title = fmt::format("a loop in or around {} makes {} of the {} launches of a step",
                              function, Rounded(site.launches), Rounded(launches));
  finding.remedy =
      "# one operation on the whole tensor in place of the loop, where there is one:\n"
      "y = torch.cumsum(x, 1)   # running sums; weights @ x for a filter, x[:, i] for a gather\n"
      "# else: capture the loop in a CUDA graph, or compile its body\n" +
      finding.remedy;
}

void NameSites(const Case& the_case, double launches, Finding& finding) {
  const Places places(the_case);
  const std::vector<LaunchSite> sites = FindLaunchSites(the_case.whatif->model(), places);
  for (std::size_t i = 0; i < std::min(sites.size(), kMostNamed); ++i) {
    const LaunchSite& site = sites[i];
    if (site.launches < kWorthNaming * launches) break;
    finding.evidence.push_back(fmt::format("{} of {} launches a step come from {}",
                                           Rounded(site.launches), Rounded(launches),
                                           analyze::SourceText(site.frame)));
    finding.where.push_back(places.Of(site.row));
    finding.where.back().source = analyze::SourceText(site.frame);
  }
  if (sites.empty()) return;
  const LaunchSite& first = sites.front();
  if (first.plain && first.repeats >= kLoopRepeats && first.launches >= kLoopShare * launches) {
    NameLoop(first, launches, finding);
  }
}

}  // namespace

Judgement JudgeLaunchBound(const Case& the_case) {
  if (the_case.trace.device.size() == 0) return Judgement::Quiet();
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (!the_case.facts.launches) return Judgement::Missing(the_case.facts.launches.why_not());
  const auto& edit = the_case.whatif->Find("launch-bound");
  if (!edit) return Judgement::Quiet();
  const replay::Graph& graph = the_case.whatif->model().graph();
  const auto steps = static_cast<double>(graph.steps);
  double busy = 0, kernels = 0;
  for (const replay::Task& task : graph.tasks) {
    if (task.kind != replay::TaskKind::kKernel) continue;
    busy += static_cast<double>(task.duration_ns);
    ++kernels;
  }
  const double bare = the_case.whatif->bare().likely_ns;

  Finding finding;
  finding.id = "launch-bound";
  finding.fix = {"launch-bound"};
  finding.title = "the host launches kernels more slowly than the device runs them";
  finding.evidence.push_back(fmt::format(
      "{:.0f} kernels a step, {:.1f} us each on average: {:.2f} ms of work in a step of about "
      "{:.2f} ms",
      kernels / steps, kernels > 0 ? busy / kernels / 1e3 : 0, busy / steps / 1e6, bare / 1e6));
  finding.evidence.push_back((*edit)->Scope(the_case.whatif->model()));
  finding.remedy =
      "model = torch.compile(model, mode=\"reduce-overhead\")   # CUDA graphs\n"
      "# or capture the whole step: torch.cuda.graph(g)\n";
  OfferLargerBatch(*the_case.whatif, Trains(the_case), finding);
  double launches = 0;
  for (const replay::Task& task : graph.tasks) launches += task.kind == replay::TaskKind::kLaunch;
  NameSites(the_case, launches / steps, finding);
  finding.effort = Effort::kFewLines;
  finding.confidence = Confidence::kMedium;
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
