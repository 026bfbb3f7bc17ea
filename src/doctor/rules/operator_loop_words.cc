// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/autograd_engine.h"
#include "analyze/source_frame.h"
#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/hotspot_words.h"

namespace hone::doctor {
namespace {

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
     "y = torch.vmap(body)(x)   # all times round in one call; or its operators on whole tensors:\n"
     "# (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True) for each row of x\n"
     "# where samples differ in size: pad them; over parameters: torch._foreach_mul_(list, 0.9)\n"},
    {"values are read out of tensors one at a time, {0} times a step{1}",
     "values = x.tolist()             # once, then a loop over plain numbers\n"
     "right = (pred == y).sum().item()   # or no loop: one operation on the whole tensor\n"},
    {"the model runs on one sample at a time, {0} times a step{1}",
     "out = model(torch.stack(samples))   # all of them in one call, one loss over the batch\n"
     "# where each needs the result before it (text, episodes): several of these at a time\n"},
    {"a recurrent cell is called from Python, {0} times a step{1}",
     "rnn = torch.nn.GRU(inputs, units, batch_first=True)   # once; or nn.RNN, nn.LSTM\n"
     "out, h = rnn(x)   # all time steps in one call\n"},
    {"an LSTM cell is called from Python, {0} times a step{1}",
     "rnn = torch.nn.LSTM(inputs, units, batch_first=True)   # once\n"
     "out, (h, c) = rnn(x)   # all time steps in one call\n"},
};

// Nobody's line calls what autograd's engine runs.
bool RunByEngine(const Case& the_case, trace::RowId row) {
  return analyze::IsEngineSlice(the_case.trace.HostName(row));
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

}  // namespace

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

}  // namespace hone::doctor
