// SPDX-License-Identifier: Apache-2.0
// cpu-oversubscribed: more threads want to run than there are cores.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/machine_counters.h"
#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "replay/edits/crowded_cores.h"

namespace hone::doctor {
namespace {

using replay::kCrowded;
using replay::kLeastWaiting;

// Of steady time that a control group was held back; below it a step's spread hides it.
constexpr double kThrottledShare = 0.05;
// Of the time that the step's thread waited for a core; below it nobody notices.
constexpr double kHardlyWaiting = 0.02;

struct Crowd {
  analyze::CounterSeries cores, runnable;
  Known<analyze::OwnDemand> own;
  Known<analyze::StepDemand> step;
  Known<analyze::ComputeDemand> compute;
  double held = 0;  // share of the time that the control group was held back
  bool counted() const { return cores.count > 0 && runnable.count > 0 && cores.mean() > 0; }
  // The program alone wants more than there are; threads that were not looked at only add to it.
  bool by_itself() const { return own && own->wanted() >= kCrowded * cores.mean(); }
  // The program fits beside others that leave it its cores, or others want too many without it.
  bool by_others() const {
    if (!own || by_itself()) return false;
    return own->complete || (own->unread && runnable.mean() - most() >= kCrowded * cores.mean());
  }
  // Cores that the program wants at most.
  double most() const { return own->wanted() + (own->complete || !own->unread ? 0 : *own->unread); }
  // Of the time that the program's threads wanted a core, that they waited for one.
  double waited() const { return own && own->wanted() > 0 ? own->waiting / own->wanted() : 0; }
  // Of the time, that the step's thread did; where it was not looked at, that all of them did.
  double lost() const { return step ? step->waiting : waited(); }
  // Known: no process has a pool of threads that there could be fewer of.
  bool one_each() const { return compute && !compute->pools && compute->complete; }
  double per_core() const { return counted() ? runnable.mean() / cores.mean() : 0; }
};

// The cores, shared by the processes that compute; where a loader's workers were seen, half of them
// for these. Nothing for what the program does not have.
std::string FewerThreads(const Case& the_case, const Crowd& crowd) {
  const analyze::Facts& facts = the_case.facts;
  const bool workers = facts.loader && facts.loader->mode == analyze::LoaderMode::kWorkers;
  const auto ranks = static_cast<double>(std::max<std::int64_t>(1, the_case.trace.info.world_size));
  const double processes =
      crowd.compute && !workers ? static_cast<double>(crowd.compute->processes) : ranks;
  const double cores = crowd.counted() ? crowd.cores.mean() / (workers ? 2 : 1) : 4 * processes;
  const double each = std::max(1.0, std::floor(cores / processes));
  std::string remedy;
  if (!crowd.one_each()) {
    remedy = fmt::format("torch.set_num_threads({:.0f})            # a process{}\n", each,
                         workers ? "; and OMP_NUM_THREADS=1 in loader workers" : "");
  }
  if (workers) {
    remedy += fmt::format(
        "DataLoader(..., num_workers={:.0f})      # workers + processes <= cores\n", each);
  }
  if (remedy.empty()) {
    remedy =
        "# operators have one thread a process already: fewer processes, or more cores for them\n";
  }
  return remedy;
}

void BlameTheProgram(const Case& the_case, const Crowd& crowd, Finding& finding) {
  finding.title = crowd.held >= kThrottledShare ? "the container's CPU limit stops the program"
                                                : "more threads want to run than there are cores";
  if (crowd.held >= kThrottledShare) {
    finding.evidence.push_back(
        fmt::format("held back for {} of the steady steps", Percent(crowd.held)));
  }
  if (crowd.counted()) {
    finding.evidence.push_back(fmt::format("{} threads want to run on {}",
                                           Times(crowd.runnable.mean()),
                                           Times(crowd.cores.mean(), "core")));
  }
  const bool known = crowd.own && (crowd.own->complete || crowd.by_itself());
  if (known) {
    finding.evidence.push_back(fmt::format("{}{} of them are the program's own",
                                           crowd.own->complete ? "" : "at least ",
                                           Times(crowd.own->wanted())));
  } else if (crowd.held < kThrottledShare) {
    finding.confidence = Confidence::kMedium;
    finding.evidence.emplace_back("whose threads they are is not in this trace");
  }
  if (crowd.step) {
    finding.evidence.push_back(
        fmt::format("the thread that makes the steps waited for a core {} of the time",
                    Percent(crowd.step->waiting)));
  }
  // Other programs' threads do not get fewer by it.
  if (!known && crowd.held < kThrottledShare) {
    finding.remedy =
        "top -o %CPU                        # whose threads they are; the rest is for this "
        "program's\n";
  }
  finding.remedy += FewerThreads(the_case, crowd);
}

// Of the time, that the step's thread wanted a core and got none; where it was not looked at, of
// what the program wanted. Below it other programs hardly matter: a loader that sleeps wants
// little.
constexpr double kMuchWaiting = 0.2, kMostlyWaiting = 0.5;

void BlameOthers(const Crowd& crowd, Finding& finding) {
  const analyze::OwnDemand& own = *crowd.own;
  // All cores are busy, so what the program did not get somebody else did.
  const double others = std::max(
      0.0, std::min(crowd.runnable.mean() - crowd.most(), crowd.cores.mean() - own.running));
  finding.title = fmt::format("other programs on this machine take {} of {}", Times(others),
                              Times(crowd.cores.mean(), "core"));
  finding.confidence = Confidence::kMedium;
  finding.severity = crowd.lost() >= kMostlyWaiting && crowd.step ? Severity::kHigh
                     : crowd.lost() >= kMuchWaiting               ? Severity::kMedium
                                                                  : Severity::kLow;
  finding.evidence.push_back(
      fmt::format("{} threads want to run on {}, and {}{} of them are this program's",
                  Times(crowd.runnable.mean()), Times(crowd.cores.mean(), "core"),
                  own.complete ? "" : "at most ", Times(crowd.most())));
  finding.evidence.push_back(
      fmt::format("its threads waited for a core {} of the time that they wanted one",
                  Percent(crowd.waited())));
  finding.remedy =
      "top -o %CPU                        # who takes them; end it, or measure when it is done\n";
  // Half of them for the program: with fewer than four there is nothing to share.
  const double cores = std::floor(crowd.cores.mean());
  if (cores >= 4) {
    finding.remedy += fmt::format(
        "taskset -c 0-{:.0f} python train.py     # cores of its own, where others can be kept off "
        "them\n",
        std::floor(cores / 2) - 1);
  }
}

}  // namespace

Judgement JudgeCpuOversubscribed(const Case& the_case) {
  const trace::Interval window = the_case.facts.steps.host_window.hull();
  auto step = Known<analyze::StepDemand>::Absent(the_case.why_no_replay);
  if (the_case.whatif != nullptr) step = the_case.whatif->model().StepDemand();
  const analyze::CounterSeries throttled =
      analyze::ReadCounter(the_case.trace, window, "throttled_usec");
  Crowd crowd{analyze::ReadCounter(the_case.trace, window, "cpu_cores"),
              analyze::ReadCounter(the_case.trace, window, "runnable_threads"),
              analyze::ReadOwnDemand(the_case.trace, window), step,
              analyze::ReadComputeDemand(the_case.trace, window)};
  if (!crowd.counted() && throttled.count < 2) {
    return Judgement::Missing(
        "the number of cores and of threads that want them is not in this trace; compare nproc "
        "with the load in top while it runs");
  }
  if (throttled.count >= 2 && window.length() > 0) {
    crowd.held = (throttled.last - throttled.first) * 1e3 / static_cast<double>(window.length());
  }
  const bool held = crowd.held >= kThrottledShare;
  if (crowd.per_core() < kCrowded && !held) return Judgement::Quiet();

  Finding finding;
  finding.id = "cpu-oversubscribed";
  finding.severity = Severity::kMedium;
  finding.effort = Effort::kOneLine;
  if (crowd.by_others() && !held) {
    // Busy neighbours that nobody here waits for are no matter of this program's.
    if (crowd.lost() < kHardlyWaiting) return Judgement::Quiet();
    BlameOthers(crowd, finding);
  } else {
    BlameTheProgram(the_case, crowd, finding);
    // Threads of the steps' own process are replayed. Of others (workers, ranks) it is not known
    // whether their work could be done by fewer: the step's thread tells whether it minds.
    if (the_case.whatif != nullptr && the_case.whatif->Find("cpu-oversubscribed")) {
      finding.fix = {"cpu-oversubscribed"};
    } else if (!held && crowd.step && crowd.step->waiting < kLeastWaiting) {
      finding.severity = Severity::kLow;
    }
  }
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
