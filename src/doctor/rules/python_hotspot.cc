// SPDX-License-Identifier: Apache-2.0
// python-hotspot: Python code outside operators takes the time.
#include "replay/edits/python_hotspot.h"

#include <fmt/format.h>

#include <unordered_map>
#include <vector>

#include "analyze/source_frame.h"
#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

// Pauses say little about their reason, so they must be larger to be worth a sentence.
constexpr double kLeastPauseShare = 0.05;

// Of code that is the user's to move.
void PutPlace(Place place, Finding& finding) {
  place.op.clear();
  finding.remedy = fmt::format(
      "# {}: take it out of the loop, do it every 100 steps, or in a thread beside it;\n"
      "# loops over elements become one tensor operation: y = (x * w).sum(-1)\n",
      place.source);
  finding.where.push_back(std::move(place));
}

void NameFunction(const Case& the_case, const replay::Hotspot& hotspot, Finding& finding) {
  const std::string_view frame = the_case.trace.HostName(hotspot.frame);
  finding.title = fmt::format("the Python function {} takes the time of the step",
                              analyze::ParseFrame(frame).function);
  const Places places(the_case);
  Place place = places.Of(hotspot.frame);
  // A library's function: the line that calls it is what the user can change.
  place.source = SourceText(hotspot.user ? frame : places.Frame(hotspot.frame));
  PutPlace(std::move(place), finding);
  if (!hotspot.user) finding.confidence = Confidence::kMedium;
}

// The line of the user's own code in which samples of stacks found the thread of the steps most
// often while the hotspot ran.
struct SampledLine {
  std::string_view frame;  // "" where there are no samples
  std::uint64_t there = 0, samples = 0;
};

SampledLine FindSampledLine(const Case& the_case, const replay::Hotspot& hotspot) {
  const trace::Trace& trace = the_case.trace;
  const trace::StackFrames& frames = trace.stack_frames;
  const std::uint32_t thread = the_case.whatif->model().graph().lanes[0].row;
  SampledLine found;
  if (trace.samples.size() == 0) return found;
  // Innermost frame of the user's code at or above each frame; callers stand before callees.
  std::vector<std::uint32_t> user(frames.size(), 0);
  for (std::uint32_t f = 1; f < frames.size(); ++f) {
    const bool own = analyze::IsUserFrame(analyze::ParseFrame(trace.Name(frames.place[f])));
    user[f] = own ? f : user[frames.caller[f]];
  }
  std::unordered_map<StringId, std::uint64_t> counts;
  for (std::size_t i = 0; i < trace.samples.size(); ++i) {
    if (trace.samples.thread[i] != thread || !hotspot.cut.Contains(0, trace.samples.time_ns[i])) {
      continue;
    }
    ++found.samples;
    const std::uint32_t frame = user[trace.samples.frame[i]];
    if (frame == 0) continue;
    const std::uint64_t count = ++counts[frames.place[frame]];
    if (count <= found.there) continue;
    found.there = count;
    found.frame = trace.Name(frames.place[frame]);
  }
  return found;
}

// A pause whose code samples can name. False: they cannot.
bool NameSampled(const Case& the_case, const replay::Hotspot& hotspot, Finding& finding) {
  const SampledLine line = FindSampledLine(the_case, hotspot);
  // Less than half could be any line, and so could a handful of samples.
  constexpr std::uint64_t kLeastSamples = 5;
  if (line.there < kLeastSamples || 2 * line.there < line.samples) return false;
  finding.title = fmt::format("the Python function {} takes the time of the step",
                              analyze::ParseFrame(line.frame).function);
  finding.evidence.push_back(fmt::format("{} of {} samples in it are at {}", line.there,
                                         line.samples, SourceText(line.frame)));
  finding.confidence = Confidence::kMedium;
  Place place = Places(the_case).Of(hotspot.after);
  place.source = SourceText(line.frame);
  PutPlace(std::move(place), finding);
  return true;
}

void NamePause(const Case& the_case, const replay::Hotspot& hotspot, Finding& finding) {
  const trace::HostSlices& host = the_case.trace.host;
  const bool between = hotspot.before != trace::kNoRow;
  finding.title = fmt::format(
      "code outside operators runs {}before {} while nothing is launched",
      between ? fmt::format("after {} and ", the_case.trace.HostName(hotspot.before)) : "",
      the_case.trace.HostName(hotspot.after));
  finding.confidence = Confidence::kLow;
  Place place = Places(the_case).Of(hotspot.after);
  if (between && host.end_ns(hotspot.before) < host.start_ns[hotspot.after]) {
    place.start_ns = host.end_ns(hotspot.before);
    place.duration_ns = host.start_ns[hotspot.after] - place.start_ns;
  }
  finding.where.push_back(std::move(place));
  finding.remedy = the_case.trace.info.format == trace::Format::kHone
                       ? "# which function it is: record for longer, or sample more often\n"
                         "hone run --steps 200 -- ...\n"
                       : "# which function it is: record again with\n"
                         "torch.profiler.profile(..., with_stack=True)\n"
                         "# or: py-spy top --pid PID\n";
}

}  // namespace

Judgement JudgePythonHotspot(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  const analyze::InputPresence& present = the_case.facts.trust.present;
  if (present.python == 0 && present.ops == 0) {
    return Judgement::Missing(std::string("neither operators nor Python frames in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kStacks));
  }
  if (present.python == 0 && present.kernels > 0 && present.api_calls == 0) {
    return Judgement::Missing(std::string("neither Python frames nor API calls in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kStacks));
  }
  const replay::Model& model = the_case.whatif->model();
  const Known<replay::Hotspot> hotspot = replay::FindHotspot(model);
  if (!hotspot) return Judgement::Quiet();
  const auto steps = static_cast<double>(model.graph().steps);
  const double gone = static_cast<double>(hotspot->cut.gone_ns()) / steps;
  const double share = gone / model.graph().measured_step_ns();
  const bool named = hotspot->frame != trace::kNoRow;
  if (!named && share < kLeastPauseShare) return Judgement::Quiet();

  Finding finding;
  finding.id = "python-hotspot";
  finding.fix = {"python-hotspot"};
  finding.effort = Effort::kFewLines;
  finding.evidence.push_back(
      fmt::format("{} ms of a {} ms step ({:.0f} %), in {} {} a step", ThreeDigits(gone / 1e6),
                  ThreeDigits(model.graph().measured_step_ns() / 1e6), 100 * share,
                  Times(static_cast<double>(hotspot->times) / steps), named ? "calls" : "pauses"));
  if (hotspot->computation != trace::kNoRow) {
    finding.evidence.push_back(fmt::format(
        "{} computes on the host inside it, {} ms at a time",
        the_case.trace.HostName(hotspot->computation),
        ThreeDigits(static_cast<double>(the_case.trace.host.duration_ns[hotspot->computation]) /
                    1e6)));
  }
  if (named) {
    NameFunction(the_case, *hotspot, finding);
  } else if (!NameSampled(the_case, *hotspot, finding)) {
    NamePause(the_case, *hotspot, finding);
  }
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
