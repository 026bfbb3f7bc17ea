// SPDX-License-Identifier: Apache-2.0
// naive-attention: softmax(q kᵀ) v spelled out.
#include <fmt/format.h>

#include "analyze/autograd_engine.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "replay/edits/attention.h"
#include "trace/record_again.h"

namespace hone::doctor {

Judgement JudgeNaiveAttention(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (the_case.facts.trust.present.ops == 0) {
    return Judgement::Missing(std::string("no operators in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kOperators));
  }
  const auto& edit = the_case.whatif->Find("naive-attention");
  if (!edit) return Judgement::Quiet();
  const replay::Model& model = the_case.whatif->model();

  Finding finding;
  finding.id = "naive-attention";
  finding.fix = {"naive-attention"};
  const bool on_host = the_case.trace.device.size() == 0;
  finding.title =
      fmt::format("attention is spelled out in matmul and softmax instead of one fused {}",
                  on_host ? "operator" : "kernel");
  finding.evidence.push_back((*edit)->Scope(model));
  finding.evidence.emplace_back(
      "the matrix of scores is written to memory and read back several times");
  finding.remedy =
      "y = F.scaled_dot_product_attention(q, k, v)  # attn_mask=, dropout_p= as before; "
      "is_causal=True only where the program masks the future\n"
      "# Hugging Face: from_pretrained(..., attn_implementation=\"sdpa\")\n";
  if (on_host) {
    finding.remedy +=
        "# nn.MultiheadAttention: need_weights=False; dropout is not fused on the CPU\n";
  }
  finding.effort = Effort::kFewLines;
  // One that a backward pass computes again stands in the engine's thread, where no line does.
  const auto again = [&](const replay::Attention& one) {
    return analyze::IsEngineSlice(the_case.trace.HostName(model.lineage().top_op[one.softmax]));
  };
  trace::RowId softmax = trace::kNoRow;
  for (const replay::Attention& one : replay::FindAttention(model)) {
    if (one.on_host && one.dropout) continue;
    if (softmax == trace::kNoRow || !again(one)) softmax = one.softmax;
    if (!again(one)) break;
  }
  if (softmax != trace::kNoRow) finding.where.push_back(Places(the_case).Of(softmax));
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
