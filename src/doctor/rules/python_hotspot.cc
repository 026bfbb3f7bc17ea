// SPDX-License-Identifier: Apache-2.0
// python-hotspot: Python code outside operators takes the time.
#include "replay/edits/python_hotspot.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "analyze/source_frame.h"
#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

// Pauses say little about their reason, so they must be larger to be worth a sentence; where nobody
// knows whose they are and they are rare, larger still: the machine has hiccups of its own.
constexpr double kLeastPauseShare = 0.05;
constexpr double kLeastRareShare = 0.2;

// Of code that is the user's to move.
void PutPlace(Place place, Finding& finding) {
  place.op.clear();
  finding.remedy =
      "# take it out of the loop, do it every 100 steps, or in a thread beside it;\n"
      "# loops over elements become one tensor operation: y = (x * w).sum(-1)\n";
  finding.where.push_back(std::move(place));
}

// The longest pause, not the operator behind it.
Place PlaceOfPause(const Case& the_case, const replay::Hotspot& hotspot) {
  const trace::HostSlices& host = the_case.trace.host;
  Place place = Places(the_case).Of(hotspot.after);
  const bool between = hotspot.before != trace::kNoRow;
  if (between && host.end_ns(hotspot.before) < host.start_ns[hotspot.after]) {
    place.start_ns = host.end_ns(hotspot.before);
    place.duration_ns = host.start_ns[hotspot.after] - place.start_ns;
  }
  return place;
}

void NameFunction(const Case& the_case, const replay::Hotspot& hotspot, Finding& finding) {
  const std::string_view frame = the_case.trace.HostName(hotspot.frame);
  finding.title = fmt::format("the Python function {} takes the time of the step",
                              analyze::ParseFrame(frame).function);
  const Places places(the_case);
  Place place = places.Of(hotspot.frame);
  // A library's function: the line that calls it is what the user can change.
  place.source = analyze::SourceText(hotspot.user ? frame : places.Frame(hotspot.frame));
  PutPlace(std::move(place), finding);
  if (!hotspot.user) finding.confidence = Confidence::kMedium;
}

// Calling small operators one by one takes the time, not what else the code does.
void TellLoop(const Case& the_case, const replay::Hotspot& hotspot, Finding& finding) {
  const auto calls = hotspot.looped / the_case.whatif->model().graph().steps;
  const double each_us =
      static_cast<double>(hotspot.looped_ns) / 1e3 / static_cast<double>(hotspot.looped);
  finding.evidence.push_back(fmt::format("{} a step are called in loops, {} us each",
                                         Count(calls, "operator"), ThreeDigits(each_us)));
  finding.remedy =
      "# one operation on the whole tensor in place of the loop: y = (x * w).sum(-1)\n"
      "# over time steps: nn.GRU, nn.LSTM, torch.cumsum; reading elements: x.tolist() once\n";
}

// The code of a pause where samples name it.
void NameSampled(const Case& the_case, const replay::Hotspot& hotspot, Finding& finding) {
  const std::string_view frame = the_case.trace.Name(hotspot.line);
  const std::string source = analyze::SourceText(frame);
  const std::string_view function =
      analyze::WrittenFunction(analyze::ParseFrame(the_case.trace.Name(hotspot.function)));
  const bool one_line = 2 * hotspot.line_samples >= hotspot.function_samples &&
                        analyze::WrittenFunction(analyze::ParseFrame(frame)) == function;
  const bool waits = 2 * hotspot.waiting_samples >= hotspot.function_samples;
  const std::string who = function == "<module>"
                              ? std::string("Python code at the top level of the program")
                              : fmt::format("the Python function {}", function);
  finding.title = fmt::format(
      "{} {}", who, waits ? "waits, and takes the time of the step" : "takes the time of the step");
  finding.evidence.push_back(
      one_line ? fmt::format("{} of {} samples between operators are at {}", hotspot.line_samples,
                             hotspot.samples, source)
               : fmt::format("{} of {} samples between operators are in it, most of them at {}",
                             hotspot.function_samples, hotspot.samples, source));
  finding.confidence = Confidence::kMedium;
  Place place = PlaceOfPause(the_case, hotspot);
  place.source = source;
  PutPlace(std::move(place), finding);
  if (2 * hotspot.looped_ns > hotspot.cut.gone_ns()) TellLoop(the_case, hotspot, finding);
  if (!waits) return;
  finding.evidence.push_back(fmt::format("in {} of {} it waits and wants no core",
                                         hotspot.waiting_samples, hotspot.function_samples));
  finding.remedy =
      "# ask for it a step ahead, or wait in a thread beside the steps;\n"
      "# else make faster what it waits for: another process, a disk, the network, a sleep\n";
}

void NamePause(const Case& the_case, const replay::Hotspot& hotspot, Finding& finding) {
  const bool between = hotspot.before != trace::kNoRow;
  finding.title = fmt::format(
      "code outside operators runs {}before {} while nothing is launched",
      between ? fmt::format("after {} and ", the_case.trace.HostName(hotspot.before)) : "",
      the_case.trace.HostName(hotspot.after));
  finding.confidence = Confidence::kLow;
  finding.where.push_back(PlaceOfPause(the_case, hotspot));
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
  const double times = static_cast<double>(hotspot->times) / steps;
  const bool rare = !named && hotspot->line == StringId::kEmpty && times < 0.5;
  if (rare && share < kLeastRareShare) return Judgement::Quiet();

  Finding finding;
  finding.id = "python-hotspot";
  finding.fix = {"python-hotspot"};
  finding.effort = Effort::kFewLines;
  std::string time = fmt::format("{} ms of a {} ms step ({:.0f} %)", ThreeDigits(gone / 1e6),
                                 ThreeDigits(model.graph().measured_step_ns() / 1e6), 100 * share);
  if (hotspot->times > 0) {
    time += fmt::format(", in {} {} a step", Times(times), named ? "calls" : "pauses");
  }
  finding.evidence.push_back(std::move(time));
  if (hotspot->computation != trace::kNoRow) {
    finding.evidence.push_back(fmt::format(
        "{} computes on the host inside it, {} ms at a time",
        the_case.trace.HostName(hotspot->computation),
        ThreeDigits(static_cast<double>(the_case.trace.host.duration_ns[hotspot->computation]) /
                    1e6)));
  }
  if (named) {
    NameFunction(the_case, *hotspot, finding);
  } else if (hotspot->line != StringId::kEmpty) {
    NameSampled(the_case, *hotspot, finding);
  } else {
    NamePause(the_case, *hotspot, finding);
  }
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
