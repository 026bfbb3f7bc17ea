// SPDX-License-Identifier: Apache-2.0
// host-sync: .item(), .cpu(), nonzero, print(tensor), torch.cuda.synchronize() in the step.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/rules/rules.h"

namespace hone::doctor {
namespace {

// What the user wrote, by the operator around the wait.
std::string WrittenAs(std::string_view op) {
  if (op == "aten::item" || op == "aten::_local_scalar_dense" || op == "aten::is_nonzero") {
    return ".item(), float() or a test of a tensor";
  }
  if (op.find("nonzero") != std::string_view::npos || op.starts_with("aten::index") ||
      op.find("masked_select") != std::string_view::npos ||
      op.find("unique") != std::string_view::npos) {
    return "an operator whose output size depends on values";
  }
  if (op == "aten::to" || op == "aten::copy_" || op == "aten::_to_copy")
    return ".cpu() or .to(\"cpu\")";
  if (op.empty()) return "torch.cuda.synchronize() or a wait on an event";
  return std::string(op);
}

bool IsResultWait(const analyze::SyncRow& row, const Case& the_case) {
  if (row.by_profiler || row.per_step <= 0) return false;
  // Waits for copies to the device are other rules' business.
  const std::string_view call = the_case.trace.Name(row.call);
  return call.find("Memcpy") == std::string_view::npos;
}

}  // namespace

Judgement JudgeHostSync(const Case& the_case) {
  if (!the_case.facts.syncs) return Judgement::Missing(the_case.facts.syncs.why_not());
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (!the_case.whatif->Find("host-sync")) return Judgement::Quiet();

  Finding finding;
  finding.id = "host-sync";
  finding.fix = {"host-sync"};
  double per_step = 0;
  const analyze::SyncRow* first = nullptr;
  for (const analyze::SyncRow& row : the_case.facts.syncs->rows) {
    if (!IsResultWait(row, the_case)) continue;
    per_step += row.per_step;
    if (first == nullptr) first = &row;
    if (finding.where.size() < 3) {
      Place place;
      place.op = std::string(the_case.trace.Name(row.op));
      place.source = std::string(row.where);
      finding.where.push_back(place);
    }
    if (finding.evidence.size() < 3) {
      finding.evidence.push_back(fmt::format(
          "{} in {}: {:.1f} a step, {:.2f} ms each", the_case.trace.Name(row.call),
          row.op == StringId::kEmpty ? std::string("no operator")
                                     : std::string(the_case.trace.Name(row.op)),
          row.per_step, static_cast<double>(row.total_ns) / 1e6 / static_cast<double>(row.count)));
    }
  }
  if (first == nullptr) return Judgement::Quiet();
  const std::string written = WrittenAs(the_case.trace.Name(first->op));
  finding.title = fmt::format("the host stops {:.0f} times a step to wait for results",
                              std::max(1.0, per_step));
  finding.evidence.push_back("most comes from " + written);
  finding.remedy =
      "total += loss.detach()              # keep it on the device\n"
      "if step % 100 == 0: print(total.item())\n";
  finding.effort = Effort::kFewLines;
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
