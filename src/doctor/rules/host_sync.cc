// SPDX-License-Identifier: Apache-2.0
// host-sync: .item(), .cpu(), nonzero, print(tensor), torch.cuda.synchronize() in the step.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "analyze/source_frame.h"
#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "replay/edits/half_format.h"
#include "replay/edits/waits.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

using trace::kNoRow;
using trace::RowId;

// What the user wrote.
enum class Written : std::uint8_t { kScalar, kToHost, kSizeFromValues, kPrint, kScaler, kExplicit };
constexpr std::size_t kWrittenCount = 6;

struct Advice {
  const char* title;
  const char* remedy;
  Effort effort;
};
constexpr std::array<Advice, kWrittenCount> kAdvice = {{
    {"the host reads a value from the device ({} a step) and waits for it",
     "total += loss.detach()                   # keep it on the device\n"
     "if step % 100 == 0: print(total.item())  # read it seldom\n",
     Effort::kFewLines},
    {"tensors are copied to the host in the step ({} a step) and the host waits for them",
     "out = torch.empty_like(y, device=\"cpu\", pin_memory=True)   # once\n"
     "out.copy_(y, non_blocking=True)          # use it one step later, after "
     "event.synchronize()\n",
     Effort::kFewLines},
    {"sizes of tensors depend on values ({} a step), so the host waits for the device",
     "y = torch.where(mask, x, 0)              # keep the shape instead of x[mask]\n"
     "i = torch.nonzero_static(mask, size=n)   # or say the size beforehand\n",
     Effort::kFewLines},
    {"a tensor is printed in the step, which waits {}x for the device",
     "if step % 100 == 0: print(loss.item())   # not every step, and one value instead of a "
     "tensor\n",
     Effort::kOneLine},
    {"the gradient scaler asks the device in every step ({}x) and waits for the answer",
     "with torch.autocast(\"cuda\", torch.bfloat16): ...   # bf16 needs no GradScaler\n",
     Effort::kFewLines},
    {"the step calls a synchronization ({} a step) that nothing needs",
     "# remove torch.cuda.synchronize() and event.synchronize() from the loop; to time it:\n"
     "start.record(); step(); stop.record()    # and read start.elapsed_time(stop) every 100 "
     "steps\n",
     Effort::kOneLine},
}};

// In float16 the scaler must stay.
constexpr const char* kScalerInFloat16 =
    "optimizer = torch.optim.AdamW(…, fused=True)   # of fused ones the scaler asks on the "
    "device\n";

Written ByOp(std::string_view op) {
  const auto has = [&](std::string_view part) { return op.find(part) != std::string_view::npos; };
  if (op.empty()) return Written::kExplicit;
  if (has("nonzero") && op != "aten::is_nonzero") return Written::kSizeFromValues;
  if (op.starts_with("aten::index") || has("masked_select") || has("unique") ||
      has("repeat_interleave") || has("bincount")) {
    return Written::kSizeFromValues;
  }
  if (op == "aten::to" || op == "aten::copy_" || op == "aten::_to_copy" || op == "aten::cpu") {
    return Written::kToHost;
  }
  return Written::kScalar;
}

// Frames decide before operators: print() and the scaler read scalars too.
class Frames {
 public:
  explicit Frames(const trace::Trace& trace) : of_(trace.host.size(), kNone) {
    std::vector<std::uint8_t> names(trace.strings.size(), kUnseen);
    for (RowId i = 0; i < trace.host.size(); ++i) {
      const RowId parent = trace.host.parent[i];
      if (parent != kNoRow) of_[i] = of_[parent];
      if (trace.host.kind[i] != trace::SliceKind::kPython) continue;
      std::uint8_t& name = names[static_cast<std::uint32_t>(trace.host.name[i])];
      if (name == kUnseen) name = Judge(analyze::ParseFrame(trace.HostName(i)).file);
      if (name != kNone) of_[i] = name;
    }
  }
  bool Print(RowId row) const { return of_[row] == kPrint; }
  bool Scaler(RowId row) const { return of_[row] == kScaler; }

 private:
  enum : std::uint8_t { kUnseen, kNone, kPrint, kScaler };
  static std::uint8_t Judge(std::string_view file) {
    if (file.ends_with("torch/_tensor_str.py")) return kPrint;
    return file.ends_with("amp/grad_scaler.py") ? kScaler : kNone;
  }
  std::vector<std::uint8_t> of_;
};

struct Group {
  std::uint64_t count = 0;
  Nanos total_ns = 0;
  RowId longest = kNoRow;
  Written written = Written::kScalar;
};

// By place in the program: the source line where there is one, else operator and call.
std::vector<Group> Collect(const replay::Model& model, const Places& places) {
  const trace::Trace& trace = model.trace();
  const Frames frames(trace);
  std::map<std::pair<std::string_view, std::string_view>, Group> groups;
  for (const replay::Task& task : model.graph().tasks) {
    if (ReasonOf(model, task) != replay::WaitReason::kResult) continue;
    const RowId op = model.lineage().top_op[task.row];
    const std::string_view op_name = op == kNoRow ? std::string_view{} : trace.HostName(op);
    Group& group = groups[{places.Frame(task.row), op_name}];
    ++group.count;
    const Nanos length = trace.host.duration_ns[task.row];
    group.total_ns += length;
    if (group.longest == kNoRow || length > trace.host.duration_ns[group.longest]) {
      group.longest = task.row;
    }
    group.written = frames.Print(task.row)    ? Written::kPrint
                    : frames.Scaler(task.row) ? Written::kScaler
                                              : ByOp(op_name);
  }
  std::vector<Group> sorted;
  for (const auto& [key, group] : groups) sorted.push_back(group);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Group& a, const Group& b) { return a.total_ns > b.total_ns; });
  return sorted;
}

}  // namespace

Judgement JudgeHostSync(const Case& the_case) {
  if (!the_case.facts.syncs) {
    return Judgement::Missing(the_case.facts.syncs.why_not() + "; " +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kDevice));
  }
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (!the_case.whatif->Find("host-sync")) return Judgement::Quiet();
  const replay::Model& model = the_case.whatif->model();
  const Places places(the_case);
  const std::vector<Group> groups = Collect(model, places);
  if (groups.empty()) return Judgement::Quiet();
  const auto steps = static_cast<double>(model.graph().steps);

  Finding finding;
  finding.id = "host-sync";
  finding.fix = {"host-sync"};
  std::array<Nanos, kWrittenCount> by_kind{};
  std::array<std::uint64_t, kWrittenCount> count{};
  for (const Group& group : groups) {
    by_kind[static_cast<std::size_t>(group.written)] += group.total_ns;
    count[static_cast<std::size_t>(group.written)] += group.count;
  }
  const auto most =
      static_cast<std::size_t>(std::max_element(by_kind.begin(), by_kind.end()) - by_kind.begin());
  const Advice& advice = kAdvice[most];
  finding.title =
      fmt::format(fmt::runtime(advice.title), Times(static_cast<double>(count[most]) / steps));
  finding.remedy = advice.remedy;
  if (most == static_cast<std::size_t>(Written::kScaler) && model.peaks() &&
      replay::TakesFloat16Only(*model.peaks())) {
    finding.remedy = kScalerInFloat16;
  }
  // A pinned buffer alone changes nothing; of the other kinds either line is enough.
  if (most == static_cast<std::size_t>(Written::kToHost)) finding.needed = finding.remedy;
  finding.effort = advice.effort;
  for (const Group& group : groups) {
    if (finding.where.size() == 3) break;
    Place place = places.Of(group.longest);
    finding.evidence.push_back(fmt::format(
        "{} in {}: {} a step, {} ms each", the_case.trace.HostName(group.longest),
        place.op.empty() ? std::string("no operator") : place.op,
        Times(static_cast<double>(group.count) / steps),
        ThreeDigits(static_cast<double>(group.total_ns) / 1e6 / static_cast<double>(group.count))));
    finding.where.push_back(std::move(place));
  }
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
