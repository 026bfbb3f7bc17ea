// SPDX-License-Identifier: Apache-2.0
// Whose code samples of Python stacks found a thread in: shared by edits about Python's own time.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace hone::replay {

// torch.save, safetensors, torch.distributed.checkpoint and the checkpoint of a Trainer. `frame`:
// "torch/serialization.py(930): save".
bool IsSaveFrame(std::string_view frame);

// By row of Trace::stack_frames, as innermost frame of a sample. 0: no such frame.
class SampledCode {
 public:
  explicit SampledCode(const trace::Trace& trace);  // O(stack frames)

  // The user's frame whose own time it is: it runs, or a library that it called does. Not where a
  // framework runs on its behalf (a model, an optimizer, a loader) or a checkpoint is saved; but
  // where a framework copies what the user gave to copy.deepcopy.
  std::uint32_t Own(std::uint32_t frame) const { return own_[frame]; }
  // The outermost frame that saves a checkpoint.
  std::uint32_t Save(std::uint32_t frame) const { return save_[frame]; }
  // The outermost frame of a user's function that calls one of those, in this sample or another,
  // and runs no framework else: what waits in it (fsync, close, rename) waits for the checkpoint.
  std::uint32_t AroundSave(std::uint32_t frame) const { return around_save_[frame]; }
  // The innermost frame of the user's code at or above it.
  std::uint32_t User(std::uint32_t frame) const { return user_[frame]; }
  // The outermost function that does nothing but wait, called from the user's code or a library's:
  // queue.get, not the lock in it. kEmpty: none is on the stack.
  StringId Wait(std::uint32_t frame) const { return wait_[frame]; }
  // The function of a frame as its author wrote it: that around a comprehension, which some
  // versions of Python run as a function of its own.
  StringId Function(std::uint32_t frame) const { return function_[frame]; }
  // The user's functions on the stack at `own` and around it, up to a framework that called them:
  // outermost first, without those that run a framework themselves. Those hold the loop of the
  // steps, and everything is inside of them.
  std::vector<StringId> Around(std::uint32_t own) const;  // O(kDeepest)

 private:
  static constexpr int kDeepest = 64;

  const trace::StackFrames& frames_;
  void FindAroundSaves(const trace::Trace& trace);

  std::vector<std::uint32_t> own_, save_, around_save_, user_;
  std::vector<StringId> function_, wait_;
  std::vector<std::uint8_t> framework_;  // by row of stack_frames
  std::set<StringId> drivers_;           // functions of the user that run a framework
};

}  // namespace hone::replay
