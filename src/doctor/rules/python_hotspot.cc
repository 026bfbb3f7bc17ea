// SPDX-License-Identifier: Apache-2.0
// python-hotspot: Python code takes the time, between operators or by what it has them compute.
#include "replay/edits/python_hotspot.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "analyze/source_frame.h"
#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/hotspot_words.h"
#include "doctor/rules/rules.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

// Pauses say little about their reason, so they must be larger to be worth a sentence; where nobody
// knows whose they are and they are rare, larger still: the machine has hiccups of its own.
constexpr double kLeastPauseShare = 0.05;
constexpr double kLeastRareShare = 0.2;

// Pauses of one kind of code vary by less (a fifth, as steady steps do), however long it takes;
// requests come as they like.
constexpr double kIrregular = 0.2;
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

// Whose code it is, where frames name it; of a wait, whose line it waits at.
void NameFunction(const Case& the_case, const replay::Hotspot& hotspot, Finding& finding) {
  const std::string_view frame = the_case.trace.Name(hotspot.function);
  const std::string_view function = analyze::WrittenFunction(analyze::ParseFrame(frame));
  finding.title = analyze::IsComprehension({{}, function})
                      ? std::string("a Python comprehension takes the time of the step")
                      : fmt::format("the Python function {} takes the time of the step", function);
  const Places places(the_case);
  Place place = places.Of(hotspot.frame);
  // A library's function: who calls it in the step is what the user can change. Who began before
  // the step may have called anything.
  const bool called = hotspot.caller != trace::kNoRow;
  place.source = analyze::SourceText(called ? the_case.trace.HostName(hotspot.caller) : frame);
  PutPlace(std::move(place), finding);
  if (!hotspot.user) finding.confidence = Confidence::kMedium;
  if (hotspot.waits()) {
    NameWait(the_case, hotspot, fmt::format("the Python function {}", function), finding);
    return;
  }
  if (hotspot.framework) {
    finding.evidence.push_back(
        fmt::format("a framework's function, {}: more than getting to its "
                    "next operator takes",
                    analyze::SourceText(frame)));
  }
  const std::string_view outside = places.Frame(hotspot.frame);
  if (!hotspot.user && !called && analyze::IsUserFrame(analyze::ParseFrame(outside))) {
    finding.evidence.push_back(fmt::format(
        "a library's function; of yours only {} is around it, which began before the step",
        analyze::SourceText(outside)));
  }
  if (hotspot.library != trace::kNoRow) {
    finding.evidence.push_back(
        fmt::format("of what it calls, {} takes most",
                    analyze::SourceText(the_case.trace.HostName(hotspot.library))));
  }
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
  const std::string who = function == "<module>"
                              ? std::string("Python code at the top level of the program")
                              : fmt::format("the Python function {}", function);
  finding.title = who + " takes the time of the step";
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
  if (!hotspot.waits()) return;
  finding.evidence.push_back(fmt::format("in {} of {} it waits and wants no core",
                                         hotspot.waiting_samples, hotspot.function_samples));
  NameWait(the_case, hotspot, who, finding);
}

// No Python is to blame: operators work on tensors of the host.
void TellComputation(const Case& the_case, const replay::Hotspot& hotspot, Finding& finding) {
  const std::string between =
      hotspot.before == trace::kNoRow
          ? fmt::format("before {}", the_case.trace.HostName(hotspot.after))
          : fmt::format("between {} and {}", the_case.trace.HostName(hotspot.before),
                        the_case.trace.HostName(hotspot.after));
  finding.title = fmt::format("operators compute on the host {}, {} most of all", between,
                              the_case.trace.HostName(hotspot.computation));
  finding.confidence = Confidence::kMedium;
  finding.remedy =
      "# compute on the device (logits.topk(k), torch.multinomial(p, 1)) and copy the few numbers "
      "that\n"
      "# the host needs; what makes data ready belongs in the loader's workers\n";
}

void NamePause(const Case& the_case, const replay::Hotspot& hotspot, Finding& finding) {
  const bool between = hotspot.before != trace::kNoRow;
  finding.title = fmt::format(
      "code outside operators runs {}before {}{}",
      between ? fmt::format("after {} and ", the_case.trace.HostName(hotspot.before)) : "",
      the_case.trace.HostName(hotspot.after),
      the_case.trace.device.size() > 0 ? " while nothing is launched" : "");
  finding.confidence = Confidence::kLow;
  finding.where.push_back(PlaceOfPause(the_case, hotspot));
  finding.remedy =
      the_case.trace.info.format == trace::Format::kHone
          ? "# record for longer, or sample more often\n"
            "hone run --steps 200 -- ...   # tells which function it is\n"
          : "# record again with\n"
            "torch.profiler.profile(..., with_stack=True)   # tells which function it is\n"
            "# or: py-spy top --pid PID\n";
  if (2 * hotspot.computed_ns > hotspot.cut.gone_ns()) {
    TellComputation(the_case, hotspot, finding);
    return;
  }
  if (!MayIdle(the_case) || !OnceAStep(the_case, hotspot) || hotspot.irregular < kIrregular) {
    return;
  }
  // As likely a server that has nothing to do as code that has.
  finding.title = "between steps the program runs code outside operators, or waits for requests";
  finding.evidence.push_back(fmt::format(
      "after {} and before {}, by {} more or less each time: nothing in this trace tells code from "
      "waiting",
      between ? the_case.trace.HostName(hotspot.before) : "the step's begin",
      the_case.trace.HostName(hotspot.after), Percent(hotspot.irregular)));
  finding.severity = Severity::kLow;
  SellNothing("it may be waiting for requests, which no change gives back", finding);
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
  const bool rare = !named && !hotspot->loop && !hotspot->beside &&
                    hotspot->line == StringId::kEmpty && times < 0.5;
  if (rare && share < kLeastRareShare) return Judgement::Quiet();

  Finding finding;
  finding.id = "python-hotspot";
  finding.fix = {"python-hotspot"};
  finding.effort = Effort::kFewLines;
  std::string time = fmt::format("{} ms of a {} ms step ({:.0f} %)", ThreeDigits(gone / 1e6),
                                 ThreeDigits(model.graph().measured_step_ns() / 1e6), 100 * share);
  if (hotspot->times > 0) {
    time += fmt::format(", in {} a step", Times(times, named ? "call" : "pause"));
  }
  finding.evidence.push_back(std::move(time));
  if (hotspot->computation != trace::kNoRow) {
    finding.evidence.push_back(fmt::format(
        "{} computes on the host inside it, {} ms at a time",
        the_case.trace.HostName(hotspot->computation),
        ThreeDigits(static_cast<double>(the_case.trace.host.duration_ns[hotspot->computation]) /
                    1e6)));
  }
  if (hotspot->loop) {
    NameLoop(the_case, *hotspot->loop, finding);
  } else if (hotspot->beside) {
    NameBeside(the_case, *hotspot->beside, finding);
  } else if (named) {
    NameFunction(the_case, *hotspot, finding);
  } else if (hotspot->line != StringId::kEmpty) {
    NameSampled(the_case, *hotspot, finding);
  } else {
    NamePause(the_case, *hotspot, finding);
  }
  if (hotspot->waits() && hotspot->wait != StringId::kEmpty && MayIdle(the_case)) {
    NameIdle(the_case, *hotspot, finding);
  }
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
