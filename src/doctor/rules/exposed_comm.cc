// SPDX-License-Identifier: Apache-2.0
// exposed-comm: the device waits for communication.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rank.h"
#include "doctor/rules/rules.h"
#include "doctor/rules/step_facts.h"
#include "replay/edits/comm_exposure.h"
#include "replay/edits/small_messages.h"

namespace hone::doctor {
namespace {

// Of a step. Less is the last bucket of gradients, which nothing can hide.
constexpr double kLeastExposed = 0.02;
// Of a step: a pipeline with many micro-batches still has a bubble of a few hundredths.
constexpr double kLeastBubble = 0.05;

using replay::CommExposure;
using replay::CommRole;

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

// Gradients of half precision cannot be sent in half the bytes.
bool SendsHalf(const Case& the_case) {
  const auto& rows = the_case.facts.comm->rows;
  return !rows.empty() && (rows.front().dtype == "bfloat16" || rows.front().dtype == "float16");
}

constexpr const char* kLinks =
    "# and check the links: NCCL_DEBUG=INFO names the transport of every pair of ranks\n";

std::string PipelineRemedy() {
  return "# more micro-batches a step: the bubble of n stages is (n - 1) of (micro-batches + n - "
         "1)\n"
         "# stages that take equally long: move layers off the one that never waits\n"
         "ScheduleInterleaved1F1B(stages, n_microbatches)   # torch.distributed.pipelining\n";
}

std::string LayersRemedy(const Case& the_case) {
  const auto& rows = the_case.facts.comm->rows;
  if (!rows.empty() && rows.front().kind == "all_to_all") {
    return "# experts: exchange one half of the tokens while the experts compute the other;\n"
           "# fewer ranks an expert group, or one inside a machine, make exchanges cheaper\n" +
           std::string(kLinks);
  }
  return "torch._inductor.config._micro_pipeline_tp = True   # with torch.compile: splits "
         "products\n"
         "# into parts, each of which computes while the one before it is sent\n"
         "# sequence parallelism, and fewer ranks a layer: one inside a machine\n" +
         std::string(kLinks);
}

std::string GradientsRemedy(const Case& the_case) {
  if (!Trains(the_case)) {
    return "# larger batches make compute grow faster than messages; fewer ranks a replica make "
           "fewer of them\n" +
           std::string(kLinks);
  }
  std::string remedy =
      "with model.no_sync(): loss.backward()     # all but the last of N micro-batches: 1/N of "
      "the traffic\n"
      "DistributedDataParallel(..., bucket_cap_mb=100, gradient_as_bucket_view=True)   # few "
      "large messages\n";
  if (WrappedInFsdp(the_case.trace)) {
    remedy =
        "with model.no_sync(): loss.backward()     # all but the last of N micro-batches\n"
        "# hybrid sharding (ShardingStrategy.HYBRID_SHARD) gathers inside a machine only\n";
  } else if (!SendsHalf(the_case)) {
    remedy +=
        "model.register_comm_hook(None, default_hooks.bf16_compress_hook)   # half the bytes\n";
  }
  return remedy + kLinks;
}

// Waits that no model of ours shortens: of pipelines and of layers that are split over ranks.
void AsBubble(const CommExposure& exposure, double share, Finding& finding) {
  const bool pipeline = exposure.Mostly(CommRole::kPipeline);
  if (pipeline) {
    finding.title =
        fmt::format("stages of the pipeline wait for each other {} of the time", Percent(share));
    finding.evidence.push_back(
        "most of it stands in sends and receives between two ranks, which last until the other one "
        "comes: no link has to be slow for that");
  } else {
    finding.evidence.push_back(
        "the next layer needs each result at once: nothing hides it unless the work is split");
  }
  finding.recoverable_ns =
      Known<double>::Absent(pipeline ? "no model predicts another schedule of the pipeline"
                                     : "no model predicts what splitting the work would hide");
  finding.severity = share >= kHighShare     ? Severity::kHigh
                     : share >= kMediumShare ? Severity::kMedium
                                             : Severity::kLow;
  finding.effort = Effort::kRework;
  finding.fix.clear();
}

std::string JoinRemedy(const Case& the_case, const replay::SmallMessages& small) {
  const std::string& kind = small.trains.front().kind;
  const double steps = static_cast<double>(the_case.whatif->model().graph().steps);
  std::string remedy = fmt::format(
      "flat = _flatten_dense_tensors(tensors); dist.{}(flat)   # one message, not {:.0f}\n"
      "for t, new in zip(tensors, _unflatten_dense_tensors(flat, tensors)): t.copy_(new)\n"
      "# from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors\n",
      kind, small.messages / steps);
  if (Trains(the_case) && kind == "all_reduce") {
    remedy +=
        "# tensors = [p.grad for p in model.parameters() if p.grad is not None]; or let\n"
        "# DistributedDataParallel(model) send few large ones while backward runs\n";
  }
  return remedy;
}

// What takes the time is how many there are: sending less, or hiding it, helps little.
void AsSmallMessages(const Case& the_case, const replay::SmallMessages& small, Finding& finding) {
  const auto steps = static_cast<double>(the_case.whatif->model().graph().steps);
  finding.fix = {"exposed-comm"};
  finding.title = fmt::format("{:.0f} small messages a step are sent where one would do",
                              small.messages / steps);
  if (!small.bytes) finding.confidence = Confidence::kMedium;
  const auto trains = static_cast<double>(small.trains.size());
  const auto ms = [&](double ns) { return ns / 1e6 / trains; };
  finding.evidence.push_back(fmt::format(
      "{:.0f} {} one after another take {:.2f} ms{}; one in their place {:.2f} ms ({:.2f} to "
      "{:.2f})",
      small.messages / trains, small.trains.front().kind, ms(small.taken_ns),
      small.bytes ? fmt::format(" for about {}", HumanBytes(*small.bytes / trains)) : "",
      ms(small.one_ns.likely), ms(small.one_ns.most), ms(small.one_ns.least)));
  finding.where = {Places(the_case).Of(small.trains.front().first)};
}

}  // namespace

Judgement JudgeExposedComm(const Case& the_case) {
  if (!the_case.facts.comm) return JudgeWithoutCollectives(the_case);
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  const auto exposure = replay::MeasureExposure(the_case.whatif->model());
  if (!exposure) return Judgement::Quiet();
  const replay::Graph& graph = the_case.whatif->model().graph();
  const auto steps = static_cast<double>(graph.steps);
  // What is known to be waiting for another rank is that rank's, and straggler tells of it.
  const double share = exposure->transfer_ns() / steps / the_case.whatif->measured_ns();
  const bool pipeline = exposure->Mostly(CommRole::kPipeline);
  const bool layers = exposure->Mostly(CommRole::kActivations);
  if (share < (pipeline ? kLeastBubble : kLeastExposed)) return Judgement::Quiet();

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
                  exposure->comm_ns / 1e6 / steps, exposure->transfer_ns() / 1e6 / steps));
  const auto small = replay::FindSmallMessages(the_case.whatif->model());
  const bool many = small && !pipeline && !layers;
  if (many) {
    AsSmallMessages(the_case, *small, finding);
  } else if (pipeline || layers) {
    AsBubble(*exposure, share, finding);
  } else {
    finding.evidence.push_back(
        fmt::format("{:.2f} ms a step of compute run without communication beside them",
                    exposure->free_compute_ns / 1e6 / steps));
  }
  if (!many) AddCollectives(the_case, finding);
  if (!pipeline) NoteWaits(the_case, *exposure, finding);
  finding.remedy = many       ? JoinRemedy(the_case, *small)
                   : pipeline ? PipelineRemedy()
                   : layers   ? LayersRemedy(the_case)
                              : GradientsRemedy(the_case);
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
