// SPDX-License-Identifier: Apache-2.0
// dense-embedding-gradients: a step looks up few rows of a table, and gradient and optimizer go
// over all of them.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "replay/edits/embedding_tables.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

using replay::EmbeddingTables;
using replay::SparseForm;

std::string Whole(double count) { return WithThousands(static_cast<std::int64_t>(count + 0.5)); }

void Advise(const EmbeddingTables::Shape& table, Finding& finding) {
  constexpr char kSparse[] =
      "nn.Embedding(..., sparse=True)   # the tables alone; nn.EmbeddingBag takes it too\n";
  finding.remedy = kSparse;
  if (table.form == SparseForm::kAsIs) {
    finding.effort = Effort::kOneLine;
    finding.remedy += fmt::format(
        "# torch.optim.{} takes sparse gradients as they are, without weight_decay{} and fused\n",
        table.optimizer, table.optimizer == "SGD" ? ", momentum" : "");
    return;
  }
  finding.effort = Effort::kFewLines;
  const std::string rest = table.optimizer.empty() ? "Adam" : table.optimizer;
  finding.remedy += fmt::format(
      "tables = [m.weight for m in model.modules() if getattr(m, \"sparse\", False)]\n"
      "rest = [p for p in model.parameters() if all(p is not t for t in tables)]\n"
      "optimizers = [torch.optim.SparseAdam(tables, lr=lr), torch.optim.{}(rest, lr=lr)]\n",
      rest);
  finding.needed = finding.remedy;
  if (table.form == SparseForm::kOther) {
    finding.remedy += fmt::format(
        "# {} has no sparse form; SGD without momentum and Adagrad take such gradients too\n",
        rest);
  }
  finding.remedy +=
      "# zero_grad() and step() of both; SparseAdam leaves the moments of other rows alone\n";
}

}  // namespace

Judgement JudgeDenseEmbedding(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  const replay::Model& model = the_case.whatif->model();
  if (!the_case.facts.trust.present.shapes && replay::HasDenseEmbeddings(model)) {
    return Judgement::Missing(std::string("the sizes of tensors are not in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kShapes));
  }
  const auto& edit = the_case.whatif->Find("dense-embedding-gradients");
  if (!edit) return Judgement::Quiet();
  const EmbeddingTables found = replay::LookAtEmbeddingTables(model);

  Finding finding;
  finding.id = "dense-embedding-gradients";
  finding.fix = {"dense-embedding-gradients"};
  finding.confidence = Confidence::kMedium;
  finding.title = "each step goes over whole embedding tables to change few of their rows";
  const EmbeddingTables::Shape& largest = found.shapes.front();
  finding.evidence.push_back((*edit)->Scope(model));
  constexpr std::size_t kNamed = 3;
  for (std::size_t s = 0; s < std::min(kNamed, found.shapes.size()); ++s) {
    const EmbeddingTables::Shape& shape = found.shapes[s];
    finding.evidence.push_back(fmt::format(
        "{}{} x {}: {} lookups a step, {}", shape.tables > 1.5 ? Whole(shape.tables) + " of " : "",
        WithThousands(shape.rows), WithThousands(shape.width), Whole(shape.indices),
        shape.optimizer.empty() ? "a dense gradient" : "a dense gradient for " + shape.optimizer));
  }
  if (the_case.trace.info.world_size > 1) {
    finding.evidence.emplace_back(
        "several ranks: NCCL does not add up sparse gradients, gloo does");
  }
  finding.where.push_back(Places(the_case).Of(largest.lookup));
  Advise(largest, finding);
  if (found.clipped) {
    finding.remedy += "# clip_grad_norm_ takes no sparse gradients: clip the others alone\n";
  }
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
