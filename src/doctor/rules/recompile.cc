// SPDX-License-Identifier: Apache-2.0
// recompile: torch.compile compiles again inside the steps.
#include "replay/edits/recompile.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "analyze/flops.h"
#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

using trace::RowId;

constexpr std::string_view kRegion = "Torch-Compiled Region: ";

// "Torch-Compiled Region: 0/3": the fourth version of frame 0. How often was the frame with most
// versions compiled? 0: the trace does not tell.
int Versions(const trace::Trace& trace) {
  int most = 0;
  for (std::uint32_t s = 0; s < trace.strings.size(); ++s) {
    const std::string_view text = trace.strings[static_cast<StringId>(s)];
    if (!text.starts_with(kRegion)) continue;
    const std::size_t slash = text.find('/', kRegion.size());
    if (slash == std::string_view::npos) continue;
    int version = 0;
    const auto parsed =
        std::from_chars(text.data() + slash + 1, text.data() + text.size(), version);
    if (parsed.ec == std::errc{}) most = std::max(most, version + 1);
  }
  return most;
}

// Dynamo's own limit (torch._dynamo.config.recompile_limit): it compiles a function no more often.
constexpr int kRecompileLimit = 8;

// The steady steps look for compiled code and run none.
bool RunsUncompiled(const replay::Model& model) {
  const trace::Trace& trace = model.trace();
  bool looks = false;
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (!model.InWindow(i)) continue;
    const std::string_view name = trace.HostName(i);
    if (name.starts_with("Torch-Compiled Region")) return false;
    looks = looks || name == "TorchDynamo Cache Lookup";
  }
  return looks;
}

// What the calls of compiled code were given: the same sizes throughout, other ones, or nobody
// recorded it.
enum class Sizes : std::uint8_t { kUnknown, kSame, kMove };

// "Torch-Compiled Region: 0/3" -> "0"; "": no such name.
std::string_view FrameOf(std::string_view region) {
  if (!region.starts_with(kRegion)) return {};
  region.remove_prefix(kRegion.size());
  return region.substr(0, region.find('/'));
}

// As many tensors, and one of them in another size: else it is other code that the frame runs.
bool Differ(const trace::Trace& trace, std::uint32_t before, std::uint32_t after) {
  const auto arguments = [&](std::uint32_t row) {
    const trace::OpDetail& detail = trace.op_details[row];
    return analyze::ParseArguments(trace.Name(detail.dims), trace.Name(detail.types), {});
  };
  const std::vector<analyze::ArgumentShape> a = arguments(before), b = arguments(after);
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].dims != b[i].dims) return true;
  }
  return false;
}

// By the first operator with sizes in each call, all recorded calls of a frame against its first.
Sizes LookAtSizes(const trace::Trace& trace) {
  const trace::HostSlices& host = trace.host;
  // By frame and operator, rows of Trace::op_details.
  std::map<std::pair<std::string_view, StringId>, std::uint32_t> first;
  Sizes found = Sizes::kUnknown;
  RowId region = trace::kNoRow;
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] != trace::SliceKind::kOp) continue;
    if (!FrameOf(trace.HostName(i)).empty()) {
      region = i;
      continue;
    }
    if (region == trace::kNoRow) continue;
    if (host.thread[i] != host.thread[region] || host.start_ns[i] >= host.end_ns(region)) {
      region = trace::kNoRow;
      continue;
    }
    const std::uint32_t detail = host.detail[i];
    if (trace.op_details[detail].dims == StringId::kEmpty) continue;
    const auto [entry, added] =
        first.try_emplace({FrameOf(trace.HostName(region)), host.name[i]}, detail);
    region = trace::kNoRow;
    if (added) continue;
    if (entry->second != detail && Differ(trace, entry->second, detail)) return Sizes::kMove;
    found = Sizes::kSame;
  }
  return found;
}

void Advise(Sizes sizes, Finding& finding) {
  switch (sizes) {
    case Sizes::kMove:
      finding.evidence.emplace_back("calls of the compiled code are given tensors of other sizes");
      finding.remedy =
          "model = torch.compile(model, dynamic=True)\n"
          "# or pad to a few sizes: x = F.pad(x, (0, -x.shape[-1] % 128));\n"
          "# TORCH_LOGS=recompiles python train.py   names the guard that failed\n";
      return;
    case Sizes::kSame:
      finding.evidence.emplace_back(
          "calls of the compiled code are given the same sizes throughout: another guard fails");
      break;
    case Sizes::kUnknown: break;
  }
  finding.effort = Effort::kFewLines;
  finding.remedy =
      "TORCH_LOGS=recompiles python train.py   # names the guard that failed, then:\n"
      "# an attribute or argument that changes: pass a tensor, or keep it out of what is "
      "compiled\n";
  if (sizes == Sizes::kUnknown) {
    finding.remedy += "# a size that changes: model = torch.compile(model, dynamic=True)\n";
  }
}

// The program calls what is compiled: what looked for it in the cache stands before it, and has
// the program's line where the compiler's own slices have none.
RowId CallOf(const trace::Trace& trace, RowId compile) {
  const RowId first = trace.threads[trace.host.thread[compile]].first_slice;
  constexpr RowId kFarthest = 10'000;
  for (RowId i = compile; i > first && compile - i < kFarthest; --i) {
    if (trace.HostName(i - 1) == "TorchDynamo Cache Lookup") return i - 1;
  }
  return compile;
}

// All compiling lies before the steady steps, and was in vain.
Judgement JudgeGivenUp(const Case& the_case, const replay::Model& model) {
  const int versions = Versions(the_case.trace);
  if (versions < kRecompileLimit || !RunsUncompiled(model)) return Judgement::Quiet();
  Finding finding;
  finding.id = "recompile";
  finding.effort = Effort::kOneLine;
  finding.severity = Severity::kMedium;
  finding.confidence = Confidence::kMedium;
  finding.title = "torch.compile has given up: the steps run uncompiled";
  finding.evidence.push_back(fmt::format(
      "one frame was compiled {} times, and PyTorch compiles it no more than {} times unless told "
      "otherwise",
      versions, kRecompileLimit));
  finding.evidence.push_back(
      fmt::format("none of {} runs compiled code, and all of them look for it",
                  Count(model.graph().steps, "steady step")));
  Advise(LookAtSizes(the_case.trace), finding);
  return Judgement::Fires(std::move(finding));
}

}  // namespace

Judgement JudgeRecompile(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (the_case.facts.trust.present.ops == 0 && the_case.facts.trust.present.annotations == 0) {
    return Judgement::Missing(std::string("no operators in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kOperators));
  }
  const replay::Model& model = the_case.whatif->model();
  const std::vector<RowId> rows = replay::FindCompiles(model);
  if (rows.empty()) return JudgeGivenUp(the_case, model);
  const Places places(the_case);
  Nanos total = 0;
  RowId longest = rows.front();
  std::set<std::string> steps;
  for (const RowId row : rows) {
    total += the_case.trace.host.duration_ns[row];
    if (the_case.trace.host.duration_ns[row] > the_case.trace.host.duration_ns[longest]) {
      longest = row;
    }
    steps.insert(places.Of(row).step);
  }

  Finding finding;
  finding.id = "recompile";
  finding.fix = {"recompile"};
  finding.effort = Effort::kOneLine;
  const bool once = steps.size() == 1 && model.graph().steps > 1;
  finding.title = once ? "torch.compile compiles in one of the steps"
                       : "torch.compile compiles again and again";
  finding.evidence.push_back(fmt::format(
      "{} in {} of {}: {} ms in all", Count(rows.size(), "compilation"), steps.size(),
      Count(model.graph().steps, "step"), ThreeDigits(static_cast<double>(total) / 1e6)));
  const int versions = Versions(the_case.trace);
  if (versions > 1) {
    finding.evidence.push_back(
        fmt::format("one frame has been compiled {} times so far", versions));
  }
  // One compilation may be the first use of a shape, which no later step pays for again.
  if (once) finding.confidence = Confidence::kMedium;
  Place place = places.Of(longest);
  place.op = std::string(the_case.trace.HostName(longest));
  if (std::string call = places.Of(CallOf(the_case.trace, longest)).source; !call.empty()) {
    place.source = std::move(call);
  }
  finding.where.push_back(std::move(place));
  Advise(LookAtSizes(the_case.trace), finding);
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
