// SPDX-License-Identifier: Apache-2.0
// slow-index-backward: gradients of gathers are added up one repeat after another.
#include <fmt/format.h>

#include "analyze/flops.h"
#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rank.h"
#include "doctor/rules/rules.h"
#include "replay/edits/index_backward.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

using replay::IndexBackward;
using trace::kNoRow;
using Way = IndexBackward::Way;

constexpr const char* kKernel = "indexing_backward_kernel";

// An index_put_ of the program itself, which is nobody's backward pass.
bool IsOwnCall(const replay::Model& model, const IndexBackward& found) {
  if (found.adds == kNoRow || found.forward != kNoRow) return false;
  const std::string_view top = model.trace().HostName(model.lineage().top_op[found.adds]);
  return top.find("Backward") == std::string_view::npos;
}

std::string Title(const replay::Model& model, const IndexBackward& found) {
  if (found.asked != kNoRow) {
    return fmt::format("made deterministic, {} adds repeats one after another",
                       model.trace().HostName(found.asked));
  }
  return IsOwnCall(model, found) ? "index_put_ with accumulate adds repeats one after another"
                                 : "the backward pass of x[index] adds repeats one after another";
}

// "131,072 indices into 5 rows"; "": no shapes, or several dimensions are indexed.
std::string Shapes(const trace::Trace& trace, const IndexBackward& found) {
  if (found.adds == kNoRow) return {};
  const trace::OpDetail& detail = trace.op_details[trace.host.detail[found.adds]];
  const std::vector<analyze::ArgumentShape> arguments =
      analyze::ParseArguments(trace.Name(detail.dims), trace.Name(detail.types), {});
  if (arguments.size() < 3 || arguments[0].dims.empty() || !arguments[2].IsTensor()) return {};
  double row = 1;
  for (std::size_t i = 1; i < arguments[0].dims.size(); ++i) {
    row *= static_cast<double>(arguments[0].dims[i]);
  }
  const double indices = row > 0 ? arguments[2].Elements() / row : 0;
  if (indices < 1 || arguments[1].list.size() > 1) return {};
  return fmt::format("{} indices into {}", WithThousands(static_cast<std::int64_t>(indices)),
                     Count(static_cast<std::uint64_t>(arguments[0].dims[0]), "row"));
}

void AddEvidence(const Case& the_case, const IndexBackward& found, Finding& finding) {
  const replay::Graph& graph = the_case.whatif->model().graph();
  const auto steps = static_cast<double>(graph.steps);
  std::string time =
      fmt::format("{} ms of a {} ms step are {}, {}", ThreeDigits(found.time_ns / steps / 1e6),
                  ThreeDigits(graph.measured_step_ns() / 1e6), kKernel,
                  Times(static_cast<double>(found.calls.size()) / steps, "call"));
  if (found.adds != kNoRow) {
    time += fmt::format(" in {}", the_case.trace.HostName(found.adds));
  }
  finding.evidence.push_back(std::move(time));
  const IndexBackward::Call& longest = found.calls[found.longest];
  if (longest.least_ns > 0) {
    const auto recorded = static_cast<double>(graph.tasks[longest.task].duration_ns);
    finding.evidence.push_back(fmt::format(
        "a gradient of at most {} takes {} times as long as moving its bytes{}",
        HumanBytes(longest.gradient_bytes), ThreeDigits(recorded / longest.least_ns),
        found.known_device ? "" : " at 300 GB/s (the device's bandwidth is not known)"));
  }
  const std::string shapes = Shapes(the_case.trace, found);
  finding.evidence.push_back(
      fmt::format("{}{}one warp adds all repeats of an index in turn: the fewer rows, the slower",
                  shapes, shapes.empty() ? "" : "; "));
}

std::string Remedy(const replay::Model& model, const IndexBackward& found) {
  if (found.asked != kNoRow) {
    return "torch.use_deterministic_algorithms(False)   # where results need not be the same to "
           "the last bit\n"
           "# else, where rows of a table are looked up: F.embedding(index, table)\n";
  }
  if (IsOwnCall(model, found)) {
    return "out.index_add_(0, index, values)   # instead of out.index_put_((index,), values, "
           "accumulate=True)\n"
           "# adds by atomics: the last bits differ from run to run\n";
  }
  if (found.calls[found.longest].way == Way::kEmbedding) {
    return "rows = F.embedding(index, table)   # instead of table[index]; index must not be "
           "negative\n"
           "# table of more dimensions: F.embedding(index, table.flatten(1)).unflatten(-1, "
           "table.shape[1:])\n";
  }
  return "y = torch.index_select(x, 0, index)   # instead of x[index]; 0: the dimension that is "
         "indexed\n"
         "# index of more dimensions: torch.index_select(x, 0, index.flatten()).unflatten(0, "
         "index.shape)\n"
         "# its backward pass adds by atomics: the last bits differ from run to run\n";
}

}  // namespace

Judgement JudgeSlowIndexBackward(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  const replay::Model& model = the_case.whatif->model();
  const IndexBackward found = replay::LookAtIndexBackward(model);
  const auto steps = static_cast<double>(model.graph().steps);
  if (found.calls.empty() &&
      found.unmeasured_ns > kMediumShare * steps * model.graph().measured_step_ns()) {
    return Judgement::Missing(
        fmt::format("{} ms a step of {} have no grid, which tells their bytes; {}",
                    ThreeDigits(found.unmeasured_ns / steps / 1e6), kKernel,
                    trace::RecordAgain(the_case.trace.info, trace::Lacking::kGrids)));
  }
  if (found.calls.empty()) return Judgement::Quiet();

  Finding finding;
  finding.id = "slow-index-backward";
  finding.fix = {"slow-index-backward"};
  finding.title = Title(model, found);
  const IndexBackward::Call& longest = found.calls[found.longest];
  if (longest.least_ns <= 0) {
    finding.confidence = Confidence::kLow;
  } else if (!found.known_device || longest.way != Way::kEmbedding) {
    finding.confidence = Confidence::kMedium;
  }
  AddEvidence(the_case, found, finding);
  Place place;
  const trace::RowId row = found.forward != kNoRow ? found.forward : found.adds;
  if (row != kNoRow) place = Places(the_case).Of(row);
  place.kernel = std::string(the_case.trace.DeviceName(model.graph().tasks[longest.task].row));
  finding.where.push_back(std::move(place));
  finding.remedy = Remedy(model, found);
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
