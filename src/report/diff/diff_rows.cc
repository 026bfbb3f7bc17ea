// SPDX-License-Identifier: Apache-2.0
#include "report/diff/diff_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "report/diff/diff_words.h"
#include "report/words/gain_text.h"
#include "report/words/kernel_name.h"

namespace hone::report {
namespace {

using diff::Fate;
using diff::PlaceChange;

// Counts of a step are whole most of the time.
std::string CountText(double count) {
  const double whole = std::round(count);
  return std::abs(count - whole) < 0.05 ? WithThousands(static_cast<std::int64_t>(whole))
                                        : Fixed(count, 1);
}

std::string KernelText(const diff::Diff& diff, StringId name, std::size_t distinct,
                       const Style& style) {
  constexpr std::size_t kLongest = 60;
  std::string text =
      ElideMiddle(style.Clean(ShortKernelName(diff.names[name])), kLongest, style.utf8);
  if (distinct > 1) text += fmt::format(" and {} more", distinct - 1);
  return text;
}

double MeanMicros(const diff::Amount& amount) {
  return amount.count > 0 ? static_cast<double>(amount.sum_ns) / amount.count / 1e3 : 0;
}

// "12 launches a step".
std::string CountOf(const diff::Diff& diff, double count) {
  const bool host = diff.account == diff::Account::kHost;
  const std::string text = CountText(count);
  const char* thing = text == "1" ? (host ? "call" : "launch") : (host ? "calls" : "launches");
  return fmt::format("{} {} a {}", text, thing, UnitWord(diff));
}

// Of what was kept: the effect that moved it most, and the next where that is not small beside it.
std::string KeptStory(const diff::Diff& diff, const PlaceChange& place, const Style& style) {
  constexpr double kWorthSaying = 0.25;
  const auto count = static_cast<double>(std::abs(place.count_effect_ns));
  const auto rate = static_cast<double>(std::abs(place.rate_effect_ns));
  const auto overlap = static_cast<double>(std::abs(place.overlap_effect_ns));
  const double most = std::max({count, rate, overlap});
  std::vector<std::string> parts;
  if (count > kWorthSaying * most) {
    parts.push_back(CountText(place.before.count) + std::string(style.arrow()) +
                    CountOf(diff, place.after.count));
  }
  if (rate > kWorthSaying * most) {
    parts.push_back(fmt::format("each {}{}{} us", ThreeDigits(MeanMicros(place.before)),
                                style.arrow(), ThreeDigits(MeanMicros(place.after))));
  }
  if (overlap > kWorthSaying * most) {
    parts.push_back(place.overlap_effect_ns > 0 ? "less of it hidden behind other work"
                                                : "more of it hidden behind other work");
  }
  if (parts.empty()) return CountOf(diff, place.after.count) + ", as before";
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string FigureValue(const diff::Figure& figure, const Known<double>& value) {
  if (!value) return "?";
  switch (figure.unit) {
    case diff::FigureUnit::kMillis: return MillisText(*value) + " ms";
    case diff::FigureUnit::kCount: return CountText(*value);
    case diff::FigureUnit::kShare: return Percent(*value);
    case diff::FigureUnit::kBytes: return HumanBytes(*value);
    case diff::FigureUnit::kMegahertz: return fmt::format("{} MHz", Fixed(*value, 0));
    case diff::FigureUnit::kPerSecond: return ThreeDigits(*value);
  }
  return "?";
}

}  // namespace

std::vector<PartRow> ShownParts(const diff::Diff& diff) {
  constexpr double kSmall = 0.005;  // of the longer step; the breakdown of one trace has the same
  std::vector<PartRow> work, idle, small;
  const double total =
      static_cast<double>(std::max(diff.total->before_ns, diff.total->after_ns)) * kSmall;
  for (const diff::PartChange& part : diff.parts) {
    const double size = static_cast<double>(std::max(part.time.before_ns, part.time.after_ns));
    switch (part.kind) {
      case diff::PartKind::kCompute: work.push_back({part.text, Tone::kCompute, part.time}); break;
      case diff::PartKind::kCommunication:
        work.push_back({part.text, Tone::kComm, part.time});
        break;
      case diff::PartKind::kCopy: work.push_back({part.text, Tone::kCopy, part.time}); break;
      case diff::PartKind::kIdle:
        (size < total ? small : idle).push_back({part.text, Tone::kIdle, part.time});
        break;
      case diff::PartKind::kOperators:
        work.push_back({part.text, Tone::kCompute, part.time});
        break;
      case diff::PartKind::kOther: work.push_back({part.text, Tone::kIdle, part.time}); break;
    }
  }
  std::stable_sort(idle.begin(), idle.end(), [](const PartRow& a, const PartRow& b) {
    return std::abs(a.time.delta_ns()) > std::abs(b.time.delta_ns());
  });
  if (small.size() == 1) {
    idle.push_back(small[0]);
  } else if (small.size() > 1) {
    PartRow rest{fmt::format("idle: {} other causes", small.size()), Tone::kIdle, {}};
    for (const PartRow& row : small) {
      rest.time.before_ns += row.time.before_ns;
      rest.time.after_ns += row.time.after_ns;
    }
    idle.push_back(std::move(rest));
  }
  work.insert(work.end(), idle.begin(), idle.end());
  return work;
}

const char* CausesTitle(const diff::Diff& diff) {
  // A known range that leaves open which is faster names no culprit.
  const bool open = diff.step && diff.step->range && diff.step->verdict == diff::Verdict::kUnsure;
  const bool changed = diff.step && diff.step->verdict != diff::Verdict::kWithinNoise && !open;
  return changed ? "what did it" : "what changed most";
}

std::vector<CauseRow> ShownCauses(const diff::Diff& diff, std::size_t most, const Style& style) {
  std::vector<CauseRow> rows;
  diff::Change rest = *diff.total;
  for (const diff::Contribution& cause : diff.contributions) {
    if (rows.size() == most) break;
    CauseRow row;
    if (cause.is_op) {
      const diff::OpChange& op = diff.ops[cause.index];
      const bool replaced =
          op.fate == Fate::kKept && diff.places[op.main_place].fate == Fate::kReplaced;
      row = {OpName(diff, op, style), Story(diff, op, style), op.time, op.name != StringId::kEmpty,
             replaced};
    } else {
      row = {diff.parts[cause.index].text, "", diff.parts[cause.index].time};
    }
    rest.before_ns -= row.time.before_ns;
    rest.after_ns -= row.time.after_ns;
    rows.push_back(std::move(row));
  }
  const std::size_t others = diff.contributions.size() - rows.size();
  if (others > 0) {
    rows.push_back({fmt::format("{} smaller {}", WithThousands(std::uint64_t{others}),
                                others == 1 ? "change" : "changes"),
                    "", rest});
  }
  return rows;
}

std::string OpName(const diff::Diff& diff, const diff::OpChange& op, const Style& style) {
  if (op.name != StringId::kEmpty) return style.Clean(diff.names[op.name]);
  return "work of no known operator";
}

std::string Story(const diff::Diff& diff, const PlaceChange& place, const Style& style) {
  switch (place.fate) {
    case Fate::kKept: return KeptStory(diff, place, style);
    case Fate::kReplaced:
      return KernelText(diff, place.kernel_before, place.kernels_before, style) +
             std::string(style.arrow()) +
             KernelText(diff, place.kernel_after, place.kernels_after, style);
    case Fate::kAppeared: return "new: " + CountOf(diff, place.after.count);
    case Fate::kVanished: return "gone: " + CountOf(diff, place.before.count);
  }
  return "";
}

std::string Story(const diff::Diff& diff, const diff::OpChange& op, const Style& style) {
  if (op.fate == Fate::kAppeared) return "new: " + CountOf(diff, op.count_after);
  if (op.fate == Fate::kVanished) return "gone: " + CountOf(diff, op.count_before);
  const PlaceChange& place = diff.places[op.main_place];
  std::string story = Story(diff, place, style);
  const std::vector<std::string_view> around = diff.names.Around(place.path, 1);
  // Of several places, the one that the story is about.
  if (op.places > 1 && place.fate != Fate::kReplaced && !around.empty()) {
    story += " in " + style.Clean(around[0]);
  }
  return story;
}

std::string KernelName(const diff::Diff& diff, const PlaceChange& place, const Style& style) {
  const bool gone = place.kernel_after == StringId::kEmpty;
  return style.Clean(ShortKernelName(diff.names[gone ? place.kernel_before : place.kernel_after]));
}

std::string PlaceText(const diff::Diff& diff, const PlaceChange& place, const Style& style) {
  const std::string_view a = diff.names[place.op_before], b = diff.names[place.op_after];
  std::string text;
  if (a.empty() && b.empty()) {
    text = "no operator known";
  } else if (a.empty() || b.empty() || a == b) {
    text = style.Clean(a.empty() ? b : a);
  } else {
    text = style.Clean(a) + std::string(style.arrow()) + style.Clean(b);
  }
  if (place.shape != StringId::kEmpty) text += " " + style.Clean(diff.names[place.shape]);
  const std::vector<std::string_view> around = diff.names.Around(place.path, 2);
  for (std::size_t i = 0; i < around.size(); ++i) {
    text += (i == 0 ? " in " : " < ") + style.Clean(around[i]);
  }
  return text;
}

std::string PhaseText(const diff::PhaseChange& phase) {
  if (phase.id == "end") return "idle at the end";
  if (phase.id == "unknown") return "launched by nobody known";
  return phase.id == "forward" ? "forward and the rest" : phase.id;
}

FigureText Shown(const diff::Figure& figure, const Style& style) {
  FigureText shown{figure.text, FigureValue(figure, figure.before),
                   FigureValue(figure, figure.after), ""};
  if (!figure.before || !figure.after) return shown;
  if (figure.unit == diff::FigureUnit::kShare) {
    shown.change = Signed((*figure.after - *figure.before) * 100, 1, style) + " points";
  } else {
    shown.change = SignedShare(*figure.before, *figure.after, style);
  }
  return shown;
}

std::vector<UnknownFigure> UnknownFigures(const diff::Diff& diff, bool all) {
  std::vector<UnknownFigure> unknown;
  const auto add = [&](const diff::Figure& figure, const char* which, const std::string& why) {
    std::string text = fmt::format("{}: {}", which, why);
    const bool said = std::any_of(unknown.begin(), unknown.end(),
                                  [&](const UnknownFigure& other) { return other.why == text; });
    if (!said) unknown.push_back({figure.text, std::move(text)});
  };
  for (const diff::Figure& figure : diff.figures) {
    const Known<double>&a = figure.before, &b = figure.after;
    if (!a && !b) {
      if (!all) continue;
      if (a.why_not() == b.why_not()) {
        add(figure, "neither", a.why_not());
        continue;
      }
    }
    if (!a) add(figure, "before", a.why_not());
    if (!b) add(figure, "after", b.why_not());
  }
  return unknown;
}

}  // namespace hone::report
