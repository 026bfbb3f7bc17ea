// SPDX-License-Identifier: Apache-2.0
// recomputed-activations: checkpointing of activations where memory would hold them.
#include "replay/edits/recomputed_activations.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

// Of the step, by the device's time or the host's: less is a price that nobody would pay attention
// to.
constexpr double kWorthASentence = 0.05;

constexpr const char* kTrainer = "TrainingArguments(gradient_checkpointing=False)\n";
constexpr const char* kHuggingFace = "model.gradient_checkpointing_disable()\n";
constexpr const char* kBlocks = "x = block(x)   # in place of checkpoint(block, x)\n";
constexpr const char* kRemarks =
    "# Hugging Face: model.gradient_checkpointing_disable(),\n"
    "# or TrainingArguments(gradient_checkpointing=False)\n"
    "# FSDP: no apply_activation_checkpointing(model)\n";

// As far as frames tell. The Trainer turns it on again by what its arguments say.
std::string Remedy(const trace::Trace& trace) {
  bool trainer = false, models = false;
  for (std::uint32_t i = 0; i < trace.strings.size(); ++i) {
    const std::string_view text = trace.Name(static_cast<StringId>(i));
    const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
    trainer = trainer || has("transformers/trainer.py(");
    models = models || has("transformers/modeling_layers.py(") ||
             (has("transformers/models/") && has("/modeling_"));
  }
  if (!models) return fmt::format("{}{}", kBlocks, kRemarks);
  return fmt::format("{}# your own blocks: {}", trainer ? kTrainer : kHuggingFace, kBlocks);
}

std::string MemoryClause(const replay::RecomputedActivations& found) {
  const auto kept = static_cast<double>(*found.kept), peak = static_cast<double>(found.peak);
  if (found.capacity <= 0) {
    return fmt::format(
        "to keep it takes {} at most beside a peak of {}; how much memory there is is not in this "
        "trace",
        HumanBytes(kept), HumanBytes(peak));
  }
  const auto capacity = static_cast<double>(found.capacity);
  return fmt::format("to keep it takes {} at most: with today's peak of {} {} of the device's {}",
                     HumanBytes(kept), HumanBytes(peak), Percent((kept + peak) / capacity),
                     HumanBytes(capacity));
}

}  // namespace

Judgement JudgeRecomputedActivations(const Case& the_case) {
  if (the_case.facts.trust.present.ops == 0) {
    return Judgement::Missing(std::string("no operators in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kOperators));
  }
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (!the_case.whatif->Find("recomputed-activations")) return Judgement::Quiet();
  const replay::Model& model = the_case.whatif->model();
  const replay::RecomputedActivations found = replay::LookAtRecomputedActivations(model);
  const auto steps = static_cast<double>(model.graph().steps);
  const bool device = !found.work.empty();
  const auto time = static_cast<double>(std::max(found.work_ns, found.host_ns)) / steps;
  const double share = time / model.graph().measured_step_ns();
  if (share < kWorthASentence) return Judgement::Quiet();
  const std::string cost = fmt::format(
      "{} ms of {} a step",
      ThreeDigits(static_cast<double>(device ? found.work_ns : found.host_ns) / steps / 1e6),
      device ? "device work" : "operators");
  if (!found.kept) {
    // Most programs do it because they must.
    return Judgement::Missing(
        fmt::format("the backward pass computes activations again, {}, and whether memory would "
                    "hold them is not in this trace; {}",
                    cost, trace::RecordAgain(the_case.trace.info, trace::Lacking::kMemory)));
  }

  Finding finding;
  finding.id = "recomputed-activations";
  finding.fix = {"recomputed-activations"};
  finding.effort = Effort::kOneLine;
  finding.title = found.capacity > 0 ? "activations are computed twice, and memory would hold them"
                                     : "activations are computed twice to save memory";
  if (found.capacity <= 0) finding.confidence = Confidence::kMedium;
  finding.evidence.push_back(fmt::format(
      "{} of the backward pass a step run operators of the forward pass again: {}",
      Times(static_cast<double>(found.regions.size()) / steps, "stretch", "stretches"), cost));
  finding.evidence.push_back(MemoryClause(found));
  const replay::Recompute::Region& first = found.regions.front();
  finding.where.push_back(
      Places(the_case).Of(first.forward == trace::kNoRow ? first.first : first.forward));
  finding.remedy = Remedy(the_case.trace);
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
