// SPDX-License-Identifier: Apache-2.0
#include "report/diff/diff_words.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "base/utf8.h"
#include "report/text/gain_text.h"
#include "report/text/kernel_name.h"

namespace hone::report {
namespace {

using diff::Fate;
using diff::PlaceChange;

std::string Minus(std::string text, const Style& style) {
  if (style.utf8 && text.starts_with('-')) return "−" + text.substr(1);
  return text;
}

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

// Of what was kept: the effect that moved it most.
std::string KeptStory(const diff::Diff& diff, const PlaceChange& place, const Style& style) {
  const Nanos count = std::abs(place.count_effect_ns), rate = std::abs(place.rate_effect_ns),
              overlap = std::abs(place.overlap_effect_ns);
  const bool host = diff.account == diff::Account::kHost;
  if (overlap > count && overlap > rate) {
    return place.overlap_effect_ns > 0 ? "less of it hidden behind other work"
                                       : "more of it hidden behind other work";
  }
  if (count >= rate) {
    return fmt::format("{}{}{} {} a {}", CountText(place.before.count), style.arrow(),
                       CountText(place.after.count), host ? "calls" : "launches", UnitWord(diff));
  }
  return fmt::format("each {}{}{} us", ThreeDigits(MeanMicros(place.before)), style.arrow(),
                     ThreeDigits(MeanMicros(place.after)));
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

int MillisDecimals(Nanos total_ns) {
  const Nanos size = std::abs(total_ns);
  return size < kMillisecond ? 4 : size < 10 * kMillisecond ? 3 : 2;
}

std::string Signed(double value, int decimals, const Style& style) {
  const std::string text = Fixed(value, decimals);
  const bool zero = text.find_first_not_of("-0.,") == std::string::npos;
  if (zero) return text.starts_with('-') ? text.substr(1) : text;
  return value > 0 ? "+" + text : Minus(text, style);
}

std::string SignedMillis(Nanos time, int decimals, const Style& style) {
  return Signed(ToMillis(time), decimals, style);
}

std::string SignedShare(double before, double after, const Style& style) {
  if (!(before > 0)) return "";
  const double change = (after / before - 1) * 100;
  const int decimals = std::abs(change) >= 100 ? 0 : 1;
  return Signed(change, decimals, style) + " %";
}

const char* UnitWord(const diff::Diff& diff) {
  return diff.basis == diff::Basis::kStep ? "step" : "second";
}

std::string VerdictText(const diff::Diff& diff) {
  if (!diff.step) return "cannot tell which is faster";
  const auto before = static_cast<double>(diff.step->before_ns);
  const auto after = static_cast<double>(diff.step->after_ns);
  const bool slower = after > before;
  const double ratio = slower ? after / std::max(before, 1.0) : before / std::max(after, 1.0);
  // Below that, a percentage says more than a factor.
  const std::string size =
      ratio >= 1.5 ? SpeedupText(ratio) : Percent(slower ? ratio - 1 : 1 - 1 / ratio);
  switch (diff.step->verdict) {
    case diff::Verdict::kFaster: return size + " faster";
    case diff::Verdict::kSlower: return size + " slower";
    case diff::Verdict::kWithinNoise: return "no change beyond noise";
    case diff::Verdict::kUnsure:
      return fmt::format("{} {}, but too few steps to be sure", size, slower ? "slower" : "faster");
  }
  return "";
}

Tone ToneOf(diff::Verdict verdict) {
  switch (verdict) {
    case diff::Verdict::kFaster: return Tone::kGood;
    case diff::Verdict::kSlower: return Tone::kBad;
    case diff::Verdict::kWithinNoise: return Tone::kStrong;
    case diff::Verdict::kUnsure: return Tone::kWarn;
  }
  return Tone::kPlain;
}

std::string StepText(const diff::StepChange& step, const Style& style) {
  const auto before = static_cast<double>(step.before_ns);
  const auto after = static_cast<double>(step.after_ns);
  const double change = after - before;
  const std::string size = MillisText(std::abs(change));
  const std::string sign = change > 0 ? "+" : change < 0 ? Minus("-", style) : "";
  return fmt::format("step {}{}{} ms ({}{} ms, {})", MillisText(before), style.arrow(),
                     MillisText(after), sign, size, SignedShare(before, after, style));
}

std::string NoiseText(const diff::StepChange& step, const Style& style) {
  if (!step.range) return step.range.why_not();
  const auto millis = [&](Nanos time) {
    const std::string text = MillisText(std::abs(static_cast<double>(time)));
    return time > 0 ? "+" + text : time < 0 ? Minus("-" + text, style) : text;
  };
  return fmt::format("{} to {} ms at 95 %, from {} and {} steady steps and {} between runs",
                     millis(step.range->low_ns), millis(step.range->high_ns), step.before_steps,
                     step.after_steps, Percent(diff::kRunSpread));
}

std::string OpName(const diff::Diff& diff, const diff::OpChange& op, const Style& style) {
  if (op.name != StringId::kEmpty) return style.Clean(diff.names[op.name]);
  return "work of no known operator";
}

std::string Story(const diff::Diff& diff, const PlaceChange& place, const Style& style) {
  const char* things = diff.account == diff::Account::kHost ? "calls" : "launches";
  switch (place.fate) {
    case Fate::kKept: return KeptStory(diff, place, style);
    case Fate::kReplaced:
      return KernelText(diff, place.kernel_before, place.kernels_before, style) +
             std::string(style.arrow()) +
             KernelText(diff, place.kernel_after, place.kernels_after, style);
    case Fate::kAppeared:
      return fmt::format("new: {} {} a {}", CountText(place.after.count), things, UnitWord(diff));
    case Fate::kVanished:
      return fmt::format("gone: {} {} a {}", CountText(place.before.count), things, UnitWord(diff));
  }
  return "";
}

std::string Story(const diff::Diff& diff, const diff::OpChange& op, const Style& style) {
  const char* things = diff.account == diff::Account::kHost ? "calls" : "launches";
  if (op.fate == Fate::kAppeared) {
    return fmt::format("new: {} {} a {}", CountText(op.count_after), things, UnitWord(diff));
  }
  if (op.fate == Fate::kVanished) {
    return fmt::format("gone: {} {} a {}", CountText(op.count_before), things, UnitWord(diff));
  }
  return Story(diff, diff.places[op.main_place], style);
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

std::string GateText(const diff::GateResult& gate) {
  const char* state = gate.state == diff::GateState::kFailed   ? "failed"
                      : gate.state == diff::GateState::kPassed ? "passed"
                                                               : "cannot be told";
  return fmt::format("--fail-if {}: {}, {}", gate.condition.text, state, gate.why);
}

std::string LeadText(const DiffReport& report) {
  if (report.before.traces <= 1 && report.after.traces <= 1) return "";
  const auto side = [](const DiffSide& of) {
    if (of.traces <= 1) return std::string("one trace");
    return of.lead_rank >= 0 ? fmt::format("rank {} of {}", of.lead_rank, of.traces)
                             : fmt::format("one of {} traces", of.traces);
  };
  return fmt::format("the slowest rank leads: {} against {}", side(report.before),
                     side(report.after));
}

}  // namespace hone::report
