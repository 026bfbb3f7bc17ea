// SPDX-License-Identifier: Apache-2.0
// python-hotspot: Python code outside operators takes the time.
#include "replay/edits/python_hotspot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

struct LoopWords {
  const char* title;  // {0}: times a step; {1}: ", in FUNCTION", or nothing
  const char* remedy;
};
// Where no shapes say that it is one.
constexpr const char* kFewSamples =
    "the model runs on a few samples at a time, {0} times a step{1}";
// By replay::LoopKind.
constexpr LoopWords kLoopWords[] = {
    {"a Python loop calls the same small operators {0} times a step{1}",
     "# one operation on the whole batch in place of the loop:\n"
     "y = (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)   # for each row of x\n"
     "# where samples differ in size: pad them; over parameters: torch._foreach_mul_(list, 0.9)\n"},
    {"values are read out of tensors one at a time, {0} times a step{1}",
     "values = x.tolist()             # once, then a loop over plain numbers\n"
     "right = (pred == y).sum().item()   # or no loop: one operation on the whole tensor\n"},
    {"the model runs on one sample at a time, {0} times a step{1}",
     "out = model(torch.stack(samples))   # all of them in one call, one loss over the batch\n"
     "# where each needs the result before it (text, episodes): several of these at a time\n"},
    {"a recurrent cell is called from Python, {0} times a step{1}",
     "out, h = torch.nn.GRU(inputs, units)(x)   # all time steps in one call; or nn.RNN, "
     "nn.LSTM\n"},
    {"an LSTM cell is called from Python, {0} times a step{1}",
     "out, (h, c) = torch.nn.LSTM(inputs, units)(x)   # all time steps in one call\n"},
};

// Nobody's line calls what autograd's engine runs.
bool RunByEngine(const Case& the_case, trace::RowId row) {
  return the_case.trace.HostName(row).starts_with("autograd::engine");
}

// "aten::sub, aten::div and 3 more": of one time round, each name once.
std::string NamesOf(const Case& the_case, const std::vector<trace::RowId>& rows) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string_view> names;
  for (const trace::RowId row : rows) {
    if (RunByEngine(the_case, row)) continue;
    const std::string_view name = the_case.trace.HostName(row);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > kNamed) text += fmt::format(" and {} more", names.size() - kNamed);
  return text;
}

// Frames of a recorded call stack, outermost first.
std::vector<std::string_view> FramesOf(std::string_view stack) {
  std::vector<std::string_view> frames;
  while (!stack.empty()) {
    const std::size_t cut = std::min(stack.find(';'), stack.size());
    frames.push_back(stack.substr(0, cut));
    stack.remove_prefix(std::min(cut + 1, stack.size()));
  }
  std::reverse(frames.begin(), frames.end());
  return frames;
}

// How many frames around the loop, of those that all of its calls share: where calls part ways, in
// one function by their lines, that function goes round. 0: no stacks.
std::size_t FramesAround(const Case& the_case, const replay::OperatorLoop& loop) {
  std::vector<std::string_view> shared;
  std::set<StringId> seen;
  std::size_t shortest = SIZE_MAX;
  for (const trace::RowId row : loop.rows) {
    if (RunByEngine(the_case, row)) continue;
    const StringId stack = the_case.trace.op_details[the_case.trace.host.detail[row]].stack;
    if (stack == StringId::kEmpty) return 0;
    if (!seen.insert(stack).second) continue;
    const std::vector<std::string_view> frames = FramesOf(the_case.trace.Name(stack));
    if (seen.size() == 1) shared = frames;
    const auto [end, other] =
        std::mismatch(shared.begin(), shared.end(), frames.begin(), frames.end());
    shared.erase(end, shared.end());
    shortest = std::min(shortest, frames.size());
  }
  return std::min(shared.size() + 1, shortest);
}

// The line that calls most of the loop, by time, and the line that called its function: where the
// loop stands is one of the two.
// Returns the frame of the first.
std::string_view PutLoopPlaces(const Case& the_case, const replay::OperatorLoop& loop,
                               Finding& finding) {
  const Places places(the_case);
  const std::size_t depth = FramesAround(the_case, loop);
  std::map<StringId, std::string_view> known;  // by stack
  const auto frame_of = [&](trace::RowId row) {
    if (depth == 0) return places.Frame(row);
    const StringId stack = the_case.trace.op_details[the_case.trace.host.detail[row]].stack;
    const auto [frame, fresh] = known.try_emplace(stack);
    if (!fresh) return frame->second;
    frame->second = FramesOf(the_case.trace.Name(stack))[depth - 1];
    if (!analyze::IsUserFrame(analyze::ParseFrame(frame->second)))
      frame->second = places.Frame(row);
    return frame->second;
  };
  std::map<std::string_view, std::pair<Nanos, trace::RowId>> lines;
  for (const trace::RowId row : loop.rows) {
    if (RunByEngine(the_case, row)) continue;
    auto& [time, longest] = lines.try_emplace(frame_of(row), 0, row).first->second;
    time += the_case.trace.host.duration_ns[row];
  }
  const auto most = std::max_element(lines.begin(), lines.end(), [](const auto& a, const auto& b) {
    return a.second.first < b.second.first;
  });
  const trace::RowId row = most->second.second;
  finding.where.push_back(places.Of(row));
  finding.where.back().source = analyze::SourceText(most->first);
  if (std::string caller = places.CallerOf(row, most->first); !caller.empty()) {
    Place around;
    around.source = std::move(caller);
    finding.where.push_back(std::move(around));
  }
  return most->first;
}

void NameLoop(const Case& the_case, const replay::OperatorLoop& loop, Finding& finding) {
  const LoopWords& words = kLoopWords[static_cast<std::size_t>(loop.kind)];
  const analyze::SourceFrame frame = analyze::ParseFrame(PutLoopPlaces(the_case, loop, finding));
  const std::string_view function = analyze::WrittenFunction(frame);
  const bool named = analyze::IsUserFrame(frame) && !function.starts_with('<');
  const bool few = loop.kind == replay::LoopKind::kModel && !loop.one_row;
  finding.title = fmt::format(fmt::runtime(few ? kFewSamples : words.title),
                              WithThousands(static_cast<std::int64_t>(std::llround(loop.times))),
                              named ? fmt::format(", in {}", function) : "");
  finding.remedy = words.remedy;
  finding.confidence = Confidence::kMedium;
  const auto steps = static_cast<double>(the_case.whatif->model().graph().steps);
  Nanos time = 0;
  for (const trace::RowId row : loop.rows) time += the_case.trace.host.duration_ns[row];
  finding.evidence.push_back(fmt::format(
      "{} each time ({}), {} us each on average: what calling them costs goes, not what they "
      "compute",
      Count(loop.once.size(), "operator"), NamesOf(the_case, loop.once),
      ThreeDigits(static_cast<double>(time) / 1e3 / static_cast<double>(loop.rows.size()))));
  finding.evidence.push_back(fmt::format("{} operators a step{}",
                                         WithThousands(static_cast<std::int64_t>(std::llround(
                                             static_cast<double>(loop.rows.size()) / steps))),
                                         loop.backward ? ", and the backward passes of them" : ""));
  if (loop.growth <= 0) return;
  finding.title = fmt::format("a Python loop goes over what grows with every step{}",
                              named ? fmt::format(", in {}", function) : "");
  finding.evidence.push_back(fmt::format("with every step {} more of them", Times(loop.growth)));
  finding.remedy =
      "total += loss.item()            # a running sum in place of sum(losses)\n"
      "losses.append(loss.item())      # numbers, not tensors: a kept loss keeps its whole graph\n";
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
  const bool rare = !named && !hotspot->loop && hotspot->line == StringId::kEmpty && times < 0.5;
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
  } else if (named) {
    NameFunction(the_case, *hotspot, finding);
  } else if (hotspot->line != StringId::kEmpty) {
    NameSampled(the_case, *hotspot, finding);
  } else {
    NamePause(the_case, *hotspot, finding);
  }
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
