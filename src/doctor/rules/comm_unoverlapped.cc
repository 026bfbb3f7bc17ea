// SPDX-License-Identifier: Apache-2.0
// comm-unoverlapped: communication and compute take turns.
#include <fmt/format.h>

#include "base/text.h"
#include "doctor/rules/rules.h"
#include "doctor/rules/step_facts.h"
#include "replay/edits/comm_exposure.h"

namespace hone::doctor {
namespace {

// Hidden share of communication. DDP with its defaults hides most; a tenth is chance at the edges.
constexpr double kNearNothing = 0.10;
// Of a step: below it overlap is not worth arranging.
constexpr double kLeastShare = 0.10;
// Compute to hide behind, as a share of the communication: with less, the links are the limit.
constexpr double kLeastCompute = 0.25;

std::string Remedy(const Case& the_case, bool trains) {
  if (!trains) {
    return "work = dist.all_reduce(x, async_op=True)   # start early, compute what does not need "
           "it,\n"
           "work.wait()                                # wait where the result is read\n"
           "# tensor parallelism: torch._inductor.config._micro_pipeline_tp = True under "
           "torch.compile\n";
  }
  if (WrappedInFsdp(the_case.trace)) {
    return "FullyShardedDataParallel(..., forward_prefetch=True, limit_all_gathers=True,\n"
           "                         backward_prefetch=BackwardPrefetch.BACKWARD_PRE)\n"
           "# fully_shard: module.set_modules_to_forward_prefetch([...]), …_backward_prefetch\n";
  }
  if (WrappedInDdp(the_case.trace)) {
    return "DistributedDataParallel(..., bucket_cap_mb=5, gradient_as_bucket_view=True)\n"
           "# a bucket is sent when its gradients are there: with smaller ones the first leaves "
           "earlier\n"
           "with model.no_sync(): loss.backward()   # all but the last of N micro-batches\n";
  }
  return "model = DistributedDataParallel(model)   # reduces gradients while backward runs\n"
         "work = dist.all_reduce(grad, async_op=True)   # by hand: start early, …\n"
         "work.wait()                                   # … wait where the result is read\n";
}

}  // namespace

Judgement JudgeCommUnoverlapped(const Case& the_case) {
  if (!the_case.facts.comm) return JudgeWithoutCollectives(the_case);
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  const auto exposure = replay::MeasureExposure(the_case.whatif->model());
  if (!exposure) return Judgement::Quiet();
  const replay::Graph& graph = the_case.whatif->model().graph();
  const auto steps = static_cast<double>(graph.steps);
  const double transfer = exposure->comm_ns - exposure->waited_ns;
  const double share = transfer / steps / the_case.whatif->measured_ns();
  if (share < kLeastShare || exposure->hidden_share() > kNearNothing ||
      exposure->free_compute_ns < kLeastCompute * transfer) {
    return Judgement::Quiet();
  }
  // Nothing was forgotten there: exposed-comm tells of both.
  if (exposure->Mostly(replay::CommRole::kPipeline) ||
      exposure->Mostly(replay::CommRole::kActivations)) {
    return Judgement::Quiet();
  }
  const bool trains = Trains(the_case);
  Finding finding;
  finding.id = "comm-unoverlapped";
  finding.fix = {"comm-unoverlapped"};
  finding.title = "communication and compute take turns instead of running side by side";
  // Layers split over ranks need each other's results at once: there overlap takes more than a
  // flag.
  finding.confidence = trains ? Confidence::kMedium : Confidence::kLow;
  finding.effort = trains ? Effort::kFewLines : Effort::kRework;
  finding.evidence.push_back(fmt::format("compute hides {} of {:.2f} ms a step of communication",
                                         Percent(exposure->hidden_share()),
                                         exposure->comm_ns / 1e6 / steps));
  finding.evidence.push_back(
      fmt::format("{:.2f} ms a step of compute could run beside it; communication takes {} of a "
                  "step",
                  exposure->free_compute_ns / 1e6 / steps, Percent(share)));
  if (!the_case.facts.comm->rows.empty()) {
    const analyze::CollectiveRow& most = the_case.facts.comm->rows.front();
    finding.evidence.push_back(fmt::format("most of it in {} {} of {} on average",
                                           WithThousands(most.count), most.kind,
                                           HumanDuration(most.mean_ns)));
    Place place;
    place.op = most.kind;
    finding.where.push_back(place);
  }
  NoteWaits(the_case, *exposure, finding);
  finding.remedy = Remedy(the_case, trains);
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
