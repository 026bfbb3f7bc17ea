// SPDX-License-Identifier: Apache-2.0
// checkpoint-stall: tensors are copied to the host as before, and written in the background. Where
// they are on the host already, checkpoints are written half as often.
#include "replay/edits/checkpoint_stall.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "replay/edits/edits.h"
#include "replay/edits/host_cut.h"
#include "replay/edits/sampled_code.h"
#include "replay/edits/waits.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

// More than a step reads back for its log, and enough that writing it takes a pause: 128 MiB in 4
// tensors took 280 to 310 ms, 80 to 120 of them in copies (host of an H200, local disk).
constexpr std::uint32_t kLeastCopies = 4;
constexpr Bytes kLeastBytes = 16 << 20;
constexpr Nanos kLeastPause = 20 * kMillisecond;

// Walks the step thread and collects runs of copies to the host.
class Bursts {
 public:
  explicit Bursts(const Model& model) : model_(model), launched_(model.graph().window.begin_ns) {}

  std::vector<Checkpoint> Find() {
    const trace::Trace& trace = model_.trace();
    const trace::Thread& thread = trace.threads[model_.graph().lanes[0].row];
    for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
      if (!model_.InWindow(i)) continue;
      const RowId top = model_.lineage().top_op[i];
      const bool outermost = top == i || (trace.host.kind[i] == SliceKind::kApi && top == kNoRow);
      if (outermost) covered_ += trace.host.duration_ns[i];
      if (trace.host.kind[i] != SliceKind::kApi) continue;
      const RowId work = model_.WorkOf(i);
      if (work == kNoRow) continue;
      const Nanos begin = trace.host.start_ns[top == kNoRow ? i : top];
      if (trace.device.kind[work] == trace::WorkKind::kCopy) {
        if (trace.device.direction[work] == trace::CopyDirection::kDeviceToHost) {
          Extend(i, work);
        }
      } else if (trace.device.kind[work] != trace::WorkKind::kSet) {
        Close(begin);
        launched_ = trace.host.end_ns(top == kNoRow ? i : top);
        covered_ = 0;
      }
    }
    Close(model_.graph().window.end_ns);
    return std::move(found_);
  }

 private:
  // The file is opened before the first copy: the run begins with the last launch.
  void Extend(RowId call, RowId work) {
    if (open_.copies == 0) {
      open_.row = call;
      open_.span.begin_ns = launched_;
    }
    ++open_.copies;
    open_.bytes += std::max<Bytes>(0, model_.trace().device.bytes[work]);
  }
  void Close(Nanos end) {
    open_.span.end_ns = end;
    if (open_.copies >= kLeastCopies && open_.bytes >= kLeastBytes &&
        open_.span.length() - covered_ >= kLeastPause) {
      found_.push_back(open_);
    }
    open_ = {};
  }

  const Model& model_;
  Checkpoint open_;
  Nanos launched_;     // end of the last operator that launched a kernel
  Nanos covered_ = 0;  // by operators and calls since then
  std::vector<Checkpoint> found_;
};

std::vector<Checkpoint> ByFrames(const Model& model) {
  const trace::Trace& trace = model.trace();
  std::vector<Checkpoint> found;
  for (const RowId row : model.HostRows(SliceKind::kPython, IsSaveFrame)) {
    Checkpoint checkpoint;
    checkpoint.row = row;
    checkpoint.span = {trace.host.start_ns[row], trace.host.end_ns(row)};
    checkpoint.by_frame = true;
    for (RowId i = row + 1;
         i < trace.host.size() && trace.host.thread[i] == trace.host.thread[row] &&
         trace.host.start_ns[i] < checkpoint.span.end_ns;
         ++i) {
      const RowId work = model.WorkOf(i);
      if (work == kNoRow || trace.device.direction[work] != trace::CopyDirection::kDeviceToHost) {
        continue;
      }
      ++checkpoint.copies;
      checkpoint.bytes += std::max<Bytes>(0, trace.device.bytes[work]);
    }
    found.push_back(checkpoint);
  }
  return found;
}

// The frame that saves in this sample: torch.save, or the user's function around it, which waits
// for what was written (fsync, close, rename). 0: none.
std::uint32_t SavingFrame(const SampledCode& code, const trace::StackSamples& samples,
                          std::size_t i) {
  const std::uint32_t save = code.Save(samples.frame[i]);
  if (save != 0 || samples.state[i] != trace::ThreadState::kWaiting) return save;
  return code.AroundSave(samples.frame[i]);
}

// Runs of samples of the step thread inside a function that saves. A run reaches half-way to the
// samples before and after it.
std::vector<Checkpoint> BySamples(const Model& model) {
  const trace::Trace& trace = model.trace();
  const trace::StackSamples& samples = trace.samples;
  const SampledCode code(trace);
  const trace::Interval& window = model.graph().window;
  std::vector<Checkpoint> found;
  Nanos before = window.begin_ns;  // the sample before this one
  bool open = false;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Nanos time = samples.time_ns[i];
    if (samples.thread[i] != model.graph().lanes[0].row || time < window.begin_ns ||
        time >= window.end_ns) {
      continue;
    }
    const Nanos half = std::min(time - before, samples.period_ns[i]) / 2;
    const std::uint32_t save = SavingFrame(code, samples, i);
    if (save != 0 && !open) {
      Checkpoint checkpoint;
      checkpoint.by_frame = true;
      const std::uint32_t user = code.User(save);
      checkpoint.line = trace.stack_frames.place[user != 0 ? user : save];
      checkpoint.save = trace.stack_frames.function[save];
      checkpoint.span = {time - half, time + half};
      found.push_back(checkpoint);
    } else if (open) {
      found.back().span.end_ns = save != 0 ? time : before + half;
    }
    open = save != 0;
    before = time;
  }
  return found;
}

// Samples say that it is saving, operators from when to when: where copies to the host lie in a run
// of samples, the time between the launches around them is the checkpoint's. Runs of samples miss
// short steps between two checkpoints.
std::vector<Checkpoint> WithExactSpans(std::vector<Checkpoint> runs,
                                       const std::vector<Checkpoint>& bursts) {
  const auto overlaps = [](const Checkpoint& a, const Checkpoint& b) {
    return a.span.begin_ns < b.span.end_ns && b.span.begin_ns < a.span.end_ns;
  };
  std::vector<Checkpoint> found;
  for (const Checkpoint& burst : bursts) {
    for (const Checkpoint& run : runs) {
      if (!overlaps(burst, run)) continue;
      Checkpoint both = run;
      both.span = burst.span;
      both.copies = burst.copies;
      both.bytes = burst.bytes;
      found.push_back(both);
      break;
    }
  }
  std::erase_if(runs, [&](const Checkpoint& run) {
    return std::any_of(bursts.begin(), bursts.end(),
                       [&](const Checkpoint& burst) { return overlaps(burst, run); });
  });
  found.insert(found.end(), runs.begin(), runs.end());
  std::sort(found.begin(), found.end(), [](const Checkpoint& a, const Checkpoint& b) {
    return a.span.begin_ns < b.span.begin_ns;
  });
  return found;
}

class CheckpointStall : public Edit {
 public:
  CheckpointStall(const Model& model, HostCut cut, std::string words)
      : cut_(std::move(cut)), words_(std::move(words)) {
    const trace::Trace& trace = model.trace();
    for (RowId w = 0; w < trace.device.size(); ++w) {
      const RowId call = trace.device.api[w];
      const TaskId task = model.graph().of_device[w];
      if (task != kNoTask && call != kNoRow &&
          trace.device.direction[w] == trace::CopyDirection::kDeviceToHost &&
          cut_.Contains(model.LaneOf(call), trace.host.start_ns[call])) {
        copies_.push_back(task);
      }
    }
  }

  // Likely: the step waits for copies into pinned memory and for nothing else. Least: into fresh
  // memory as now, and the background writer takes a fifth of its time from the step (memory
  // bandwidth, the interpreter's lock; an assumption). Most: nobody waits for the copies either.
  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    if (model.trace().device.size() == 0) {
      cut_.Apply(model.graph(), HalfAsOften(guess), plan);
      return;
    }
    cut_.Apply(model.graph(), guess == Guess::kLeast ? 0.8 : 1.0, plan);
    if (guess == Guess::kLeast) return;
    if (guess == Guess::kMost) cut_.DropWaits(model.graph(), plan);
    for (const TaskId copy : copies_) {
      const Bytes bytes = model.trace().device.bytes[model.graph().tasks[copy].row];
      const Known<Nanos> pinned = PinnedCopyNs(model, bytes, guess);
      if (bytes > 0 && pinned) {
        plan.duration_ns[copy] = std::min(plan.duration_ns[copy], *pinned);
      }
    }
  }

  // A thread in the background gives nothing back there: the step waits for a copy that takes as
  // long as writing (42 to 53 ms against 42 to 65 for one state), and the writer wants a core that
  // the step computes on. What was printed here before made a program slower, 0.67x to 0.85x.
  static double HalfAsOften(Guess guess) {
    return guess == Guess::kLeast ? 0.4 : guess == Guess::kMost ? 0.9 : 0.5;
  }

  std::string Scope(const Model& /*model*/) const override { return words_; }

 private:
  const HostCut cut_;
  const std::string words_;
  std::vector<TaskId> copies_;  // to the host
};

}  // namespace

std::vector<Checkpoint> FindCheckpoints(const Model& model) {
  if (model.facts().trust.present.python > 0) return ByFrames(model);
  if (model.graph().lanes[0].row >= model.trace().threads.size()) return {};
  if (model.trace().samples.size() > 0) {
    std::vector<Checkpoint> found = BySamples(model);
    if (!found.empty()) return WithExactSpans(std::move(found), Bursts(model).Find());
  }
  std::vector<Checkpoint> found = Bursts(model).Find();
  // What every step does is the program's own way of working, not a checkpoint.
  if (found.size() >= model.graph().steps) return {};
  return found;
}

std::string DescribeCheckpoints(const Model& model, const std::vector<Checkpoint>& found) {
  Nanos total = 0;
  for (const Checkpoint& checkpoint : found) total += checkpoint.span.length();
  return fmt::format("{} in {}: {} ms in all", Count(found.size(), "checkpoint"),
                     Count(model.graph().steps, "step"),
                     ThreeDigits(static_cast<double>(total) / 1e6));
}

FoundEdit FindCheckpointStall(const Model& model) {
  const std::vector<Checkpoint> found = FindCheckpoints(model);
  if (found.empty()) return FoundEdit::Absent("no checkpoint is written inside the steps");
  std::vector<HostSpan> spans;
  for (const Checkpoint& checkpoint : found) {
    const std::uint16_t lane = checkpoint.row == kNoRow ? 0 : model.LaneOf(checkpoint.row);
    spans.push_back({lane, checkpoint.span, 0});
  }
  HostCut cut(model.graph(), std::move(spans));
  return FoundEdit(
      std::make_unique<CheckpointStall>(model, std::move(cut), DescribeCheckpoints(model, found)));
}

}  // namespace hone::replay
