// SPDX-License-Identifier: Apache-2.0
// kv-cache-unused: every new token computes the whole prefix again.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "doctor/rules/step_facts.h"
#include "replay/edits/decoding.h"

namespace hone::doctor {
namespace {

constexpr std::string_view kOfLibrary =
    "model.generate(..., use_cache=True)\n"
    "# in a loop of your own: give the new token only, and what the last pass returned\n"
    "out = model(next_token, past_key_values=out.past_key_values, use_cache=True)\n";
constexpr std::string_view kOfYourOwn =
    "# a model of your own: keep each layer's keys and values, and append the new token's\n"
    "k = cache_k = torch.cat([cache_k, k_new], dim=-2)\n"
    "v = cache_v = torch.cat([cache_v, v_new], dim=-2)\n";

// A decoder of text looks its tokens up; without that there is nothing to ask shapes about.
bool LooksUpTokens(const Case& the_case) {
  if (!the_case.facts.ops) return false;
  const auto& rows = the_case.facts.ops->rows;
  return std::any_of(rows.begin(), rows.end(), [&](const analyze::OpRow& row) {
    return the_case.trace.Name(row.name) == "aten::embedding";
  });
}

// As far as frames tell; a trace without any says nothing against it.
bool UsesTransformers(const Case& the_case) {
  bool frames = false;
  for (std::uint32_t i = 0; i < the_case.trace.strings.size(); ++i) {
    const std::string_view text = the_case.trace.Name(static_cast<StringId>(i));
    if (text.find("transformers/") != std::string_view::npos) return true;
    frames = frames || text.find(".py(") != std::string_view::npos;
  }
  return !frames;
}

}  // namespace

Judgement JudgeKvCacheUnused(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (Trains(the_case)) return Judgement::Quiet();
  const replay::Model& model = the_case.whatif->model();
  const Known<replay::Decoding> decoding = replay::FindDecoding(model);
  if (!decoding) {
    const bool unknown = !the_case.facts.trust.present.shapes && LooksUpTokens(the_case);
    return unknown ? Judgement::Missing(decoding.why_not()) : Judgement::Quiet();
  }
  std::int64_t most = 0;
  double rows = 0, fresh = 0;
  for (const replay::Pass& pass : decoding->passes) {
    most = std::max(most, pass.rows);
    if (!pass.grown) continue;
    rows += static_cast<double>(pass.rows);
    fresh += static_cast<double>(decoding->new_rows);
  }
  Finding finding;
  finding.id = "kv-cache-unused";
  finding.fix = {"kv-cache-unused"};
  finding.title = "every new token computes the whole text before it again";
  const bool library = UsesTransformers(the_case);
  finding.effort = library ? Effort::kOneWord : Effort::kFewLines;
  finding.confidence = Confidence::kMedium;
  finding.evidence.push_back(
      fmt::format("{} passes grow by {} each (batch x tokens), up to {}", decoding->grown,
                  Count(static_cast<std::uint64_t>(decoding->new_rows), "row"),
                  Count(static_cast<std::uint64_t>(most), "row")));
  finding.evidence.push_back(fmt::format("{} of the rows they compute had been computed before",
                                         Percent(1 - fresh / std::max(rows, 1.0))));
  finding.evidence.push_back(fmt::format("seen in {} {}", the_case.trace.Name(decoding->op),
                                         the_case.trace.Name(decoding->dims)));
  finding.where.push_back(Places(the_case).Of(decoding->last));
  finding.remedy = library ? fmt::format("{}{}", kOfLibrary, kOfYourOwn)
                           : fmt::format("{}# with Transformers:\n{}", kOfYourOwn, kOfLibrary);
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
