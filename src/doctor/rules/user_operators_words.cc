// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "analyze/source_frame.h"
#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/hotspot_words.h"

namespace hone::doctor {
namespace {

constexpr std::size_t kNamed = 2;

std::string RemedyOf(const replay::UserOperators& beside) {
  std::string remedy =
      beside.copies
          ? "# copy when there is something to keep: every 100 steps, or when the loss is the "
            "best;\n"
            "# into tensors that are there already: kept[k].copy_(v)\n"
          : "# compute it once before the loop where it stays the same, else every 100 steps;\n"
            "# less of it: sparse for dense, a running sum for all that ever was;\n"
            "# what makes data ready belongs in the loader's workers\n";
  if (beside.graph) remedy += "with torch.no_grad():   # around it: nobody goes back through it\n";
  return remedy;
}

}  // namespace

void NameBeside(const Case& the_case, const replay::UserOperators& beside, Finding& finding) {
  const analyze::SourceFrame frame = analyze::ParseFrame(beside.place);
  const std::string_view function = analyze::WrittenFunction(frame);
  const std::string who = beside.line || function.starts_with('<')
                              ? "operators beside the model"
                              : fmt::format("operators that {} calls beside the model", function);
  finding.title = who + " take the time of the step";
  finding.confidence = beside.trains ? Confidence::kMedium : Confidence::kLow;
  finding.at_most = beside.trains;
  const auto steps = static_cast<double>(the_case.whatif->model().graph().steps);
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, beside.names.size()); ++i) {
    names += fmt::format("{}{} {} ms", i == 0 ? "" : ", ", beside.names[i].name,
                         ThreeDigits(static_cast<double>(beside.names[i].time_ns) / 1e6 / steps));
  }
  finding.evidence.push_back(fmt::format("{} operators a step, most of all {}",
                                         Times(static_cast<double>(beside.rows.size()) / steps),
                                         names));
  finding.evidence.push_back(
      beside.copies
          ? "they copy, and compute nothing; nothing tells who needs all of the copies, so this is "
            "the most there is to gain"
      : beside.inside ? "the forward pass calls it with what needs no gradient; nothing tells "
                        "whether its result "
                        "changes from step to step, so this is the most there is to gain"
      : beside.trains
          ? "no gradient goes back through them; nothing tells whether their result changes from "
            "step to step, so this is the most there is to gain"
          : "no module calls them, and nothing tells whether they can be left out");
  finding.remedy = RemedyOf(beside);
  Place place;
  place.source = analyze::SourceText(beside.place);
  place.op = std::string(beside.names.front().name);
  finding.where.push_back(std::move(place));
  if (beside.trains) return;
  // What an answer is made of after the model is as likely all that it is there for.
  finding.severity = Severity::kLow;
  SellNothing("nothing tells whether it can be left out", finding);
}

}  // namespace hone::doctor
