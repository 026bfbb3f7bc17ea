// SPDX-License-Identifier: Apache-2.0
#include "doctor/rules/slow_fetch.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "analyze/slice_activity.h"
#include "analyze/source_frame.h"
#include "replay/edits/input_bound.h"

namespace hone::doctor {
namespace {

using trace::kNoRow;
using trace::RowId;

// Of Python code inside fetches: the function with most time of its own (operators and built-ins
// that it calls count as its own). The user's functions come before those of libraries.
struct Transform {
  std::string_view frame;
  RowId example = kNoRow;
  Nanos self_ns = 0;
};

Transform FindTransform(const replay::Model& model) {
  const trace::Trace& trace = model.trace();
  const trace::HostSlices& host = trace.host;
  enum : std::uint8_t { kUnseen, kBuiltin, kLibrary, kUser };
  std::vector<std::uint8_t> names(trace.strings.size(), kUnseen), inside(host.size(), 0);
  std::vector<Nanos> self(trace.strings.size(), 0);
  std::vector<RowId> example(trace.strings.size(), kNoRow), frame(host.size(), kNoRow);
  for (const RowId row : analyze::FindLoaderSlices(trace))
    inside[row] = model.InWindow(row) ? 1 : 0;
  for (RowId i = 0; i < host.size(); ++i) {
    const RowId parent = host.parent[i];
    if (parent != kNoRow && inside[parent] != 0) {
      inside[i] = 1;
      frame[i] = frame[parent];
    }
    if (inside[i] == 0 || host.kind[i] != trace::SliceKind::kPython) continue;
    const auto name = static_cast<std::uint32_t>(host.name[i]);
    if (names[name] == kUnseen) {
      const analyze::SourceFrame parsed = analyze::ParseFrame(trace.HostName(i));
      names[name] = parsed.file.empty()            ? kBuiltin
                    : analyze::IsUserFrame(parsed) ? kUser
                                                   : kLibrary;
    }
    if (names[name] == kBuiltin) continue;
    if (frame[i] != kNoRow) {
      self[static_cast<std::uint32_t>(host.name[frame[i]])] -= host.duration_ns[i];
    }
    self[name] += host.duration_ns[i];
    example[name] = i;
    frame[i] = i;
  }
  Transform best[2];  // libraries, users
  for (std::uint32_t name = 0; name < self.size(); ++name) {
    if (example[name] == kNoRow) continue;
    Transform& of = best[names[name] == kUser ? 1 : 0];
    if (self[name] > of.self_ns) {
      of = {trace.HostName(example[name]), example[name], self[name]};
    }
  }
  return 2 * best[1].self_ns >= best[0].self_ns ? best[1] : best[0];
}

// Of samples inside fetches: the line of the user's code that most are at or were called from.
struct SampledLine {
  StringId line = StringId::kEmpty;
  // At the line, in its function, and in all fetches.
  std::uint64_t samples = 0, of_function = 0, all = 0;
};

// In the loop of the steps, or in the processes of the loader's workers.
SampledLine FindSampledLine(const replay::Model& model, bool in_workers) {
  const trace::Trace& trace = model.trace();
  const trace::StackFrames& frames = trace.stack_frames;
  // Below the loader only: the loop that asks it for a batch is not what loads, and neither is that
  // of a worker, which waits for the next one to be wanted.
  const std::string_view folder =
      in_workers ? "torch/utils/data/_utils/fetch.py" : "torch/utils/data/";
  const std::uint32_t steps = model.graph().lanes[0].row;
  std::vector<std::uint8_t> loads(frames.size(), 0);
  std::vector<std::uint32_t> user(frames.size(), 0);
  for (std::uint32_t f = 1; f < frames.size(); ++f) {
    const analyze::SourceFrame source = analyze::ParseFrame(trace.Name(frames.place[f]));
    const std::uint32_t caller = frames.caller[f];
    const bool loader = source.file.find(folder) != std::string_view::npos;
    loads[f] = loads[caller] != 0 || loader ? 1 : 0;
    user[f] = loads[f] != 0 && analyze::IsUserFrame(source) ? f : user[caller];
  }
  SampledLine best;
  std::map<StringId, std::uint64_t> lines;
  std::map<std::pair<std::string_view, std::string_view>, std::uint64_t> functions;
  const auto function_of = [&](StringId line) {
    const analyze::SourceFrame source = analyze::ParseFrame(trace.Name(line));
    return std::pair(source.file, analyze::WrittenFunction(source));
  };
  for (std::size_t i = 0; i < trace.samples.size(); ++i) {
    const std::uint32_t frame = trace.samples.frame[i];
    const std::uint32_t thread = trace.samples.thread[i];
    const bool here = in_workers ? trace.threads[thread].process != trace.threads[steps].process
                                 : thread == steps;
    if (!here || loads[frame] == 0) continue;
    const Nanos at = trace.samples.time_ns[i];
    if (at < model.graph().window.begin_ns || at >= model.graph().window.end_ns) continue;
    ++best.all;
    if (user[frame] == 0) continue;
    const StringId line = frames.place[user[frame]];
    ++functions[function_of(line)];
    if (const std::uint64_t count = ++lines[line]; count > best.samples) {
      best.samples = count;
      best.line = line;
    }
  }
  if (best.samples > 0) best.of_function = functions[function_of(best.line)];
  return best;
}

// Fewer samples could be anywhere; a line with less than a fifth of them is one of many.
constexpr std::uint64_t kLeastSamples = 5;
constexpr double kLeastSampled = 0.2;

// The step as a factor, `share` of its fetches gone.
double GainWithout(const Case& the_case, double share) {
  const double step = the_case.step_ns();
  const double rest = step - share * replay::UsualFetching(the_case.whatif->model());
  return rest > 0 ? step / rest : 1;
}

SlowFetch FromSamples(const Case& the_case) {
  const bool in_workers = the_case.facts.loader->mode == analyze::LoaderMode::kWorkers;
  const SampledLine found = FindSampledLine(the_case.whatif->model(), in_workers);
  if (found.samples < kLeastSamples) return {};
  const auto all = static_cast<double>(found.all);
  if (static_cast<double>(found.samples) < kLeastSampled * all) return {};
  SlowFetch slow;
  const std::string_view frame = the_case.trace.Name(found.line);
  slow.source = analyze::SourceText(frame);
  slow.function = analyze::WrittenFunction(analyze::ParseFrame(frame));
  slow.share = static_cast<double>(found.of_function) / all;
  slow.evidence.push_back(fmt::format("{} of {} samples of {} are at {} and in what it calls",
                                      found.samples, found.all,
                                      in_workers ? "the workers' fetches" : "it", slow.source));
  if (in_workers || slow.share < kMostOfFetch) return slow;
  slow.gain = GainWithout(the_case, slow.share);
  slow.evidence.push_back(fmt::format("without the time of {} ({} of the samples): up to {:.1f}x",
                                      slow.function, found.of_function, slow.gain));
  return slow;
}

SlowFetch FromFrames(const Case& the_case) {
  const analyze::LoaderFacts& loader = *the_case.facts.loader;
  const replay::Model& model = the_case.whatif->model();
  // Their frames are not in the trace.
  if (loader.mode == analyze::LoaderMode::kWorkers) return {};
  const Transform transform = FindTransform(model);
  if (transform.example == kNoRow) return {};
  const double self_ns =
      static_cast<double>(transform.self_ns) / static_cast<double>(model.graph().steps);
  SlowFetch slow;
  slow.source = analyze::SourceText(transform.frame);
  slow.function = analyze::ParseFrame(transform.frame).function;
  slow.share = self_ns / *loader.per_step_ns;
  slow.example = transform.example;
  slow.evidence.push_back(fmt::format("{} takes {:.1f} ms of it ({:.0f} %)", slow.source,
                                      self_ns / 1e6, 100 * slow.share));
  if (slow.share >= kMostOfFetch) slow.gain = GainWithout(the_case, slow.share);
  return slow;
}

bool IsTrainer(std::string_view place) {
  return analyze::ParseFrame(place).file.ends_with("transformers/trainer.py");
}

}  // namespace

SlowFetch FindSlowFetch(const Case& the_case) {
  const bool sampled =
      the_case.trace.samples.size() > 0 && the_case.facts.trust.present.python == 0;
  return sampled ? FromSamples(the_case) : FromFrames(the_case);
}

bool UnderTrainer(const Case& the_case) {
  const replay::Model& model = the_case.whatif->model();
  const trace::Trace& trace = the_case.trace;
  const trace::StackFrames& frames = trace.stack_frames;
  std::vector<std::uint8_t> inside(frames.size(), 0);
  for (std::uint32_t f = 1; f < frames.size(); ++f) {
    inside[f] = inside[frames.caller[f]] != 0 || IsTrainer(trace.Name(frames.place[f])) ? 1 : 0;
  }
  for (std::size_t i = 0; i < trace.samples.size(); ++i) {
    const Nanos at = trace.samples.time_ns[i];
    if (trace.samples.thread[i] == model.graph().lanes[0].row &&
        inside[trace.samples.frame[i]] != 0 && at >= model.graph().window.begin_ns &&
        at < model.graph().window.end_ns) {
      return true;
    }
  }
  return !model.HostRows(trace::SliceKind::kPython, IsTrainer).empty();
}

}  // namespace hone::doctor
