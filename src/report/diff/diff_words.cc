// SPDX-License-Identifier: Apache-2.0
#include "report/diff/diff_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "report/words/gain_text.h"

namespace hone::report {
namespace {

std::string Minus(std::string text, const Style& style) {
  if (style.utf8 && text.starts_with('-')) return "−" + text.substr(1);
  return text;
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
      if (diff.step->range) return "cannot tell which is faster";
      if (before == after) return "no change, but too few steps to be sure";
      return fmt::format("{} {}, but too few steps to be sure", size, slower ? "slower" : "faster");
  }
  return "";
}

Tone ToneOf(const diff::Diff& diff) {
  if (!diff.step) return Tone::kWarn;
  switch (diff.step->verdict) {
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
  const auto from_to = [&](Nanos from, Nanos to) {
    return fmt::format("{}{}{} ms", MillisText(static_cast<double>(from)), style.arrow(),
                       MillisText(static_cast<double>(to)));
  };
  const std::string median =
      step.by_mean ? "; median " + from_to(step.before_median_ns, step.after_median_ns) : "";
  return fmt::format("step {} ({}{} ms, {}{})", from_to(step.before_ns, step.after_ns), sign, size,
                     SignedShare(before, after, style), median);
}

std::string NoiseText(const diff::StepChange& step, const Style& style) {
  if (!step.range) return step.range.why_not();
  const auto millis = [&](Nanos time) {
    const std::string text = MillisText(std::abs(static_cast<double>(time)));
    return time > 0 ? "+" + text : time < 0 ? Minus("-" + text, style) : text;
  };
  const std::string steps =
      step.before_steps == step.after_steps
          ? fmt::format("{} each", Count(step.before_steps, "steady step"))
          : fmt::format("{} and {}", step.before_steps, Count(step.after_steps, "steady step"));
  return fmt::format(
      "the change{} lies between {} and {} ms (95 %), by {} and the {} that quiet runs differ by{}",
      step.by_mean ? " of the mean" : "", millis(step.range->low_ns), millis(step.range->high_ns),
      steps, Percent(diff::kRunSpread),
      step.verdict == diff::Verdict::kUnsure ? "; steps differ too much to tell: record more" : "");
}

std::vector<std::string> BasisNotes(const diff::Diff& diff) {
  std::vector<std::string> notes;
  if (diff.basis == diff::Basis::kSecond) {
    notes.push_back(diff.why_seconds +
                    ", so times are shares: ms of each second of the recording. Mark steps with "
                    "prof.step() or hone.step() to compare steps");
  }
  if (diff.account == diff::Account::kHost) {
    notes.push_back(diff.why_host + ": times are the host's own, by operator");
  }
  const std::size_t devices = std::max(diff.devices_before, diff.devices_after);
  if (diff.account == diff::Account::kDevice && devices > 1) {
    notes.push_back(fmt::format("the busiest device of each side is compared; there are {} and {}",
                                diff.devices_before, diff.devices_after));
  }
  if (diff.between_steps) notes.push_back("time between steps is included");
  return notes;
}

std::string NamesText(const DiffReport& report, const Style& style) {
  std::string a = report.before.name, b = report.after.name;
  std::size_t shared = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i] == b[i]; ++i) {
    if (a[i] == '/') shared = i + 1;
  }
  a = a.substr(std::min(shared, a.size() - 1));
  b = b.substr(std::min(shared, b.size() - 1));
  return style.Clean(a) + std::string(style.arrow()) + style.Clean(b);
}

std::vector<std::string> RunTexts(const DiffReport& report, const Style& style) {
  std::vector<std::string> texts;
  for (const std::string& same : report.diff.setup.same) texts.push_back(style.Clean(same));
  if (report.diff.step) {
    const std::size_t a = report.diff.step->before_steps, b = report.diff.step->after_steps;
    texts.push_back(a == b ? fmt::format("{} each", Count(a, "steady step"))
                           : fmt::format("{} and {}", a, Count(b, "steady step")));
  }
  const char* a = analyze::VerdictName(report.before.trust.verdict);
  const char* b = analyze::VerdictName(report.after.trust.verdict);
  texts.push_back(report.before.trust.verdict == report.after.trust.verdict
                      ? fmt::format("trust {}", a)
                      : fmt::format("trust {} and {}", a, b));
  return texts;
}

std::vector<TrustNote> TrustNotes(const DiffReport& report) {
  std::vector<TrustNote> notes;
  for (const auto& [side, which] :
       {std::pair(&report.before, "before"), std::pair(&report.after, "after")}) {
    if (side->trust.reasons.empty()) continue;
    std::string text = fmt::format("{}: {}", which, side->trust.reasons[0].text);
    const std::size_t more = side->trust.reasons.size() - 1;
    if (more > 0) text += fmt::format(" (and {} more: hone analyze {})", more, side->name);
    notes.push_back({side->trust.verdict, std::move(text)});
  }
  return notes;
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
