// SPDX-License-Identifier: Apache-2.0
// checkpoint-stall: the step waits while a checkpoint is written.
#include "replay/edits/checkpoint_stall.h"

#include <fmt/format.h>

#include "analyze/source_frame.h"
#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

const char* Remedy(const Case& the_case, const replay::Checkpoint& checkpoint) {
  const std::string_view save = checkpoint.row != trace::kNoRow
                                    ? the_case.trace.HostName(checkpoint.row)
                                    : the_case.trace.Name(checkpoint.save);
  if (save.find("transformers/") != std::string_view::npos) {
    return "TrainingArguments(save_steps=2000)  # less often: the Trainer waits for each; "
           "save_only_model=True writes less\n";
  }
  if (the_case.trace.device.size() == 0) {
    return "if step % (2 * every) == 0: torch.save(state, path)  # half as often\n"
           "# or less of it: the model without its optimizer. A thread in the background does not "
           "help: copying\n"
           "# the state takes as long as writing it, and the writer wants a core of the step's\n";
  }
  return "host = {k: torch.empty_like(v, device=\"cpu\", pin_memory=True) for k, v in "
         "state.items()}  # once\n"
         "for k, v in model.state_dict().items(): host[k].copy_(v, non_blocking=True)\n"
         "torch.cuda.synchronize(); threading.Thread(target=torch.save, args=(host, "
         "path)).start()\n"
         "# sharded models: torch.distributed.checkpoint.async_save(state_dict, "
         "checkpoint_id=path)\n";
}

Place PlaceOf(const Case& the_case, const replay::Checkpoint& checkpoint) {
  Place place;
  if (checkpoint.row != trace::kNoRow) {
    place = Places(the_case).Of(checkpoint.row);
  } else {
    place.source = analyze::SourceText(the_case.trace.Name(checkpoint.line));
    place.start_ns = checkpoint.span.begin_ns;
  }
  place.duration_ns = checkpoint.span.length();
  return place;
}

}  // namespace

Judgement JudgeCheckpointStall(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  const analyze::InputPresence& present = the_case.facts.trust.present;
  if (present.python == 0 && the_case.trace.samples.size() == 0 &&
      (present.api_calls == 0 || present.copies + present.kernels == 0)) {
    return Judgement::Missing(std::string("neither Python frames nor API calls in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kStacks));
  }
  const replay::Model& model = the_case.whatif->model();
  const std::vector<replay::Checkpoint> found = replay::FindCheckpoints(model);
  if (found.empty()) return Judgement::Quiet();
  const replay::Checkpoint* longest = &found.front();
  for (const replay::Checkpoint& checkpoint : found) {
    if (checkpoint.span.length() > longest->span.length()) longest = &checkpoint;
  }

  Finding finding;
  finding.id = "checkpoint-stall";
  finding.fix = {"checkpoint-stall"};
  finding.effort = Effort::kFewLines;
  finding.confidence = longest->by_frame ? Confidence::kHigh : Confidence::kMedium;
  finding.title = longest->by_frame
                      ? "training stands still while a checkpoint is written"
                      : "training stands still after many tensors were copied to the host, as for "
                        "a checkpoint";
  finding.evidence.push_back(replay::DescribeCheckpoints(model, found));
  if (longest->copies > 0) {
    finding.evidence.push_back(fmt::format("{} copied to the host for the longest, {}",
                                           Count(longest->copies, "tensor"),
                                           HumanBytes(static_cast<double>(longest->bytes))));
  }
  finding.where.push_back(PlaceOf(the_case, *longest));
  finding.remedy = Remedy(the_case, *longest);
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
