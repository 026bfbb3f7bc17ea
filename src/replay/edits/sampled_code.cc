// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/sampled_code.h"

#include <algorithm>

#include "analyze/source_frame.h"
#include "analyze/waiting_frame.h"

namespace hone::replay {

bool IsSaveFrame(std::string_view name) {
  const analyze::SourceFrame frame = analyze::ParseFrame(name);
  if (frame.file.ends_with("torch/serialization.py")) return frame.function == "save";
  if (frame.file.ends_with("safetensors/torch.py")) {
    return frame.function == "save_file" || frame.function == "save_model";
  }
  if (frame.file.ends_with("transformers/trainer.py")) {
    return frame.function.ends_with("_save_checkpoint");
  }
  return frame.file.ends_with("torch/distributed/checkpoint/state_dict_saver.py") &&
         frame.function == "save";
}

SampledCode::SampledCode(const trace::Trace& trace) : frames_(trace.stack_frames) {
  const trace::StackFrames& frames = frames_;
  own_.assign(frames.size(), 0);
  save_.assign(frames.size(), 0);
  user_.assign(frames.size(), 0);
  framework_.assign(frames.size(), 0);
  function_.assign(frames.size(), StringId::kEmpty);
  wait_.assign(frames.size(), StringId::kEmpty);
  std::vector<std::uint8_t> copies(frames.size(), 0);
  // Callers stand before callees.
  for (std::uint32_t f = 1; f < frames.size(); ++f) {
    const std::uint32_t caller = frames.caller[f];
    const analyze::SourceFrame source = analyze::ParseFrame(trace.Name(frames.place[f]));
    // A generator may also be run by whoever it was handed to.
    const bool inside = caller != 0 && analyze::IsComprehension(source) &&
                        analyze::ParseFrame(trace.Name(frames.place[caller])).file == source.file;
    function_[f] = inside ? function_[caller] : frames.function[f];
    save_[f] = save_[caller];
    if (save_[f] == 0 && IsSaveFrame(trace.Name(frames.function[f]))) save_[f] = f;
    const bool user = analyze::IsUserFrame(source) && !analyze::IsFrameworkFrame(source);
    user_[f] = user ? f : user_[caller];
    const bool deep = analyze::IsDeepCopyFrame(analyze::ParseFrame(trace.Name(frames.function[f])));
    copies[f] = copies[caller] != 0 || (deep && own_[caller] != 0) ? 1 : 0;
    framework_[f] = analyze::IsFrameworkFrame(source) && copies[f] == 0 ? 1 : 0;
    if (!user && wait_[caller] != StringId::kEmpty) {
      wait_[f] = wait_[caller];
    } else if (analyze::WaitOfFrame(trace.Name(frames.function[f])) !=
               analyze::WaitsFor::kNothing) {
      wait_[f] = frames.function[f];
    }
    if (save_[f] != 0 || framework_[f] != 0) continue;
    own_[f] = user ? f : own_[caller];
  }
  std::vector<std::uint8_t> drives = framework_;  // it, or what it called
  for (std::uint32_t f = static_cast<std::uint32_t>(frames.size()); f-- > 1;) {
    if (drives[f] == 0) continue;
    drives[frames.caller[f]] = 1;
    if (user_[f] == f) drivers_.insert(function_[f]);
  }
  FindAroundSaves(trace);
}

// A function that gathers the state to be saved (model.state_dict()) runs no model by it.
void SampledCode::FindAroundSaves(const trace::Trace& trace) {
  around_save_.assign(frames_.size(), 0);
  std::vector<std::uint8_t> gathers(frames_.size(), 0);
  std::set<StringId> save, run;  // functions of the user that call the one or the other
  for (std::uint32_t f = 1; f < frames_.size(); ++f) {
    const std::uint32_t caller = frames_.caller[f];
    const std::string_view function = analyze::ParseFrame(trace.Name(frames_.function[f])).function;
    gathers[f] = gathers[caller] != 0 || function.ends_with("state_dict") ? 1 : 0;
    if (save_[f] == f && user_[caller] != 0) save.insert(function_[user_[caller]]);
  }
  // Whoever is on the stack of a model that runs, runs it.
  std::vector<std::uint8_t> runs(frames_.size(), 0);
  for (std::uint32_t f = static_cast<std::uint32_t>(frames_.size()); f-- > 1;) {
    if (framework_[f] != 0 && save_[f] == 0 && gathers[f] == 0) runs[f] = 1;
    if (runs[f] == 0) continue;
    runs[frames_.caller[f]] = 1;
    if (user_[f] == f) run.insert(function_[f]);
  }
  for (std::uint32_t f = 1; f < frames_.size(); ++f) {
    around_save_[f] = around_save_[frames_.caller[f]];
    if (around_save_[f] == 0 && user_[f] == f && save.contains(function_[f]) &&
        !run.contains(function_[f])) {
      around_save_[f] = f;
    }
  }
}

std::vector<StringId> SampledCode::Around(std::uint32_t own) const {
  std::vector<StringId> functions;
  int depth = 0;
  for (std::uint32_t f = own; f != 0 && framework_[f] == 0 && depth < kDeepest; ++depth) {
    const bool twice = !functions.empty() && functions.back() == function_[f];
    if (user_[f] == f && !drivers_.contains(function_[f]) && !twice) {
      functions.push_back(function_[f]);
    }
    f = frames_.caller[f];
  }
  std::reverse(functions.begin(), functions.end());
  return functions;
}

}  // namespace hone::replay
