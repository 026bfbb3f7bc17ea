// SPDX-License-Identifier: Apache-2.0
// memory-growth: every step leaves more memory behind than the one before.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyze/source_frame.h"
#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "doctor/rules/step_facts.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

using analyze::DeviceMemory;
using analyze::MemoryLineRow;
using analyze::MemoryOpRow;

// Three intervals that all go up are chance once in eight; two are once in four.
constexpr std::size_t kFewestSteps = 4;
// Less is a counter or a history of losses, which hurts nobody: at 1 MiB a step an 80 GiB device
// lasts 80,000 steps, and a thousandth of what is allocated lasts a thousand steps to double.
constexpr double kLeastGrowth = 1 << 20, kLeastShare = 0.001;
// Steps that are left: less than a thousand are minutes; less than a hundred thousand, within a
// training run.
constexpr double kSoon = 1'000, kWithinARun = 100'000;

// Every step ends above the one before, and by enough.
bool Grows(const DeviceMemory& memory) {
  const std::vector<Bytes>& ends = memory.at_step_end;
  if (ends.size() < kFewestSteps || !memory.growth_per_step) return false;
  if (std::adjacent_find(ends.begin(), ends.end(), std::greater_equal<>()) != ends.end()) {
    return false;
  }
  const double allocated = memory.relative ? 0 : static_cast<double>(ends.back());
  return *memory.growth_per_step >= std::max(kLeastGrowth, kLeastShare * allocated);
}

// Steps until the device is full; absent: not known how much it has.
Known<double> StepsLeft(const DeviceMemory& memory) {
  if (memory.capacity <= 0 || memory.relative) {
    return Known<double>::Absent("the device's memory size is not in this trace");
  }
  const auto room = static_cast<double>(memory.capacity - memory.peak_allocated);
  return std::max(room, 0.0) / *memory.growth_per_step;
}

Severity SeverityOf(const Known<double>& left) {
  if (!left) return Severity::kMedium;
  if (*left < kSoon) return Severity::kHigh;
  return *left < kWithinARun ? Severity::kMedium : Severity::kLow;
}

std::string DeviceText(const DeviceMemory& memory) {
  return memory.type == trace::MemoryDevice::kHost
             ? "host memory"
             : fmt::format("memory of device {}", memory.device_id);
}

// The three that keep most, of operators or of lines.
template <typename Row>
std::vector<Row> MostKept(std::vector<Row> rows) {
  std::erase_if(rows, [](const Row& row) { return row.kept <= 0; });
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.kept > b.kept; });
  if (rows.size() > 3) rows.resize(3);
  return rows;
}

void AddKeptBy(const Case& the_case, const DeviceMemory& memory, Finding& finding) {
  for (const MemoryLineRow& row : MostKept(memory.lines)) {
    if (row.line.empty()) continue;
    Place place;
    place.source = analyze::SourceText(row.line);
    finding.evidence.push_back(fmt::format("{} allocated {} that later steps still hold",
                                           place.source,
                                           HumanBytes(static_cast<double>(row.kept))));
    finding.where.push_back(std::move(place));
  }
  for (const MemoryOpRow& row : MostKept(memory.ops)) {
    const std::string op = row.op == StringId::kEmpty ? std::string("code outside operators")
                                                      : std::string(the_case.trace.Name(row.op));
    finding.evidence.push_back(fmt::format("{} allocated {} that later steps still hold", op,
                                           HumanBytes(static_cast<double>(row.kept))));
    Place place;
    place.op = row.op == StringId::kEmpty ? "" : op;
    if (!place.op.empty()) finding.where.push_back(place);
  }
}

}  // namespace

Judgement JudgeMemoryGrowth(const Case& the_case) {
  const Known<analyze::MemoryFacts>& memory = the_case.facts.memory;
  if (!memory) return JudgeWithoutMemory(the_case);
  if (the_case.steps() < kFewestSteps) {
    return Judgement::Missing(
        fmt::format("growth shows over {} steady steps and the trace has {}; {}", kFewestSteps,
                    the_case.steps(), trace::RecordSteps(the_case.trace.info, 2 * kFewestSteps)));
  }
  const auto grows = std::find_if(memory->devices.begin(), memory->devices.end(), Grows);
  if (grows == memory->devices.end()) return Judgement::Quiet();

  const Known<double> left = StepsLeft(*grows);
  Finding finding;
  finding.id = "memory-growth";
  finding.title = fmt::format("{} grows by {} with every step", DeviceText(*grows),
                              HumanBytes(*grows->growth_per_step));
  finding.severity = SeverityOf(left);
  finding.effort = Effort::kFewLines;
  finding.evidence.push_back(fmt::format(
      "allocated at the end of {} steady steps: {} to {}, each above the one before",
      grows->at_step_end.size(), HumanBytes(static_cast<double>(grows->at_step_end.front())),
      HumanBytes(static_cast<double>(grows->at_step_end.back()))));
  if (left) {
    finding.evidence.push_back(
        fmt::format("{} of {} are taken at the peak: full after about {} more steps",
                    HumanBytes(static_cast<double>(grows->peak_allocated)),
                    HumanBytes(static_cast<double>(grows->capacity)),
                    WithThousands(static_cast<std::int64_t>(std::min(*left, 1e15)))));
  }
  AddKeptBy(the_case, *grows, finding);
  // A cache of keys and values grows by design while text is generated.
  if (!Trains(the_case)) finding.confidence = Confidence::kMedium;
  finding.remedy =
      "total += loss.item()            # or loss.detach(): a kept loss keeps its whole graph\n"
      "history.append(out.detach().cpu())   # and drop what is no longer read: del out\n"
      "# to see who holds it: torch.cuda.memory._record_memory_history(), then\n"
      "# torch.cuda.memory._dump_snapshot(\"memory.pickle\") and pytorch.org/memory_viz\n";
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
