// SPDX-License-Identifier: Apache-2.0
// exposed-comm: the device waits for communication.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/rules/rules.h"
#include "doctor/rules/step_facts.h"
#include "replay/edits/comm_exposure.h"

namespace hone::doctor {
namespace {

// Of a step. Less is the last bucket of gradients, which nothing can hide.
constexpr double kLeastShare = 0.02;

// The rows that take most time, as evidence.
void AddCollectives(const Case& the_case, Finding& finding) {
  std::size_t shown = 0;
  for (const analyze::CollectiveRow& row : the_case.facts.comm->rows) {
    if (shown++ == 2) break;
    std::string text = fmt::format("{} {} of {} on average", WithThousands(row.count), row.kind,
                                   HumanDuration(row.mean_ns));
    if (row.message_bytes) text += ", " + HumanBytes(*row.message_bytes) + " each";
    if (row.bus_gbytes_per_s)
      text += fmt::format(", {:.1f} GB/s on the bus", *row.bus_gbytes_per_s);
    finding.evidence.push_back(std::move(text));
    Place place;
    place.op = row.kind;
    finding.where.push_back(place);
  }
}

}  // namespace

Judgement JudgeExposedComm(const Case& the_case) {
  if (!the_case.facts.comm) return JudgeWithoutCollectives(the_case);
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  const auto exposure = replay::MeasureExposure(the_case.whatif->model());
  if (!exposure) return Judgement::Quiet();
  const replay::Graph& graph = the_case.whatif->model().graph();
  const auto steps = static_cast<double>(graph.steps);
  const double share = exposure->exposed_ns / steps / the_case.whatif->measured_ns();
  if (share < kLeastShare) return Judgement::Quiet();

  const char* who = exposure->on_host ? "the step" : "the device";
  Finding finding;
  finding.id = "exposed-comm";
  // Gradients can be sent smaller or less often; what inference sends it needs.
  finding.fix = {Trains(the_case) ? "exposed-comm" : "comm-unoverlapped"};
  finding.title = fmt::format("{} waits for communication {} of the time", who, Percent(share));
  finding.confidence = exposure->on_host ? Confidence::kMedium : Confidence::kHigh;
  finding.effort = Effort::kFewLines;
  finding.evidence.push_back(
      fmt::format("{:.2f} ms a step of communication, {:.2f} ms of it with no compute beside it",
                  exposure->comm_ns / 1e6 / steps, exposure->exposed_ns / 1e6 / steps));
  finding.evidence.push_back(
      fmt::format("{:.2f} ms a step of compute run without communication beside them",
                  exposure->free_compute_ns / 1e6 / steps));
  AddCollectives(the_case, finding);
  NoteStraggler(the_case, finding);
  finding.remedy =
      Trains(the_case)
          ? "with model.no_sync(): loss.backward()     # all but the last of N micro-batches: 1/N "
            "of "
            "the traffic\n"
            "DistributedDataParallel(..., bucket_cap_mb=100, gradient_as_bucket_view=True)   # few "
            "large messages\n"
            "model.register_comm_hook(None, default_hooks.bf16_compress_hook)   # half the bytes\n"
            "# and check the links: NCCL_DEBUG=INFO names the transport of every pair of ranks\n"
          : "# larger batches make compute grow faster than messages; fewer ranks a replica make "
            "fewer of them\n"
            "# and check the links: NCCL_DEBUG=INFO names the transport of every pair of ranks\n";
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
