// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/sampled_code.h"

#include "analyze/source_frame.h"

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

SampledCode::SampledCode(const trace::Trace& trace) {
  const trace::StackFrames& frames = trace.stack_frames;
  own_.assign(frames.size(), 0);
  save_.assign(frames.size(), 0);
  user_.assign(frames.size(), 0);
  // Callers stand before callees.
  for (std::uint32_t f = 1; f < frames.size(); ++f) {
    const std::uint32_t caller = frames.caller[f];
    const analyze::SourceFrame source = analyze::ParseFrame(trace.Name(frames.place[f]));
    save_[f] = save_[caller];
    if (save_[f] == 0 && IsSaveFrame(trace.Name(frames.function[f]))) save_[f] = f;
    const bool user = analyze::IsUserFrame(source) && !analyze::IsFrameworkFrame(source);
    user_[f] = user ? f : user_[caller];
    if (save_[f] != 0 || analyze::IsFrameworkFrame(source)) continue;
    own_[f] = user ? f : own_[caller];
  }
}

}  // namespace hone::replay
