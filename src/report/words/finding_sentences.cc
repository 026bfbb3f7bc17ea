// SPDX-License-Identifier: Apache-2.0
#include "report/words/finding_sentences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "analyze/source_frame.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/words/finding_words.h"
#include "report/words/gain_text.h"
#include "report/words/kernel_name.h"

namespace hone::report {

using doctor::Finding;

const Finding* FindingById(const doctor::Diagnosis& diagnosis, std::string_view id) {
  for (const Finding& finding : diagnosis.findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

ObserverPlace PlaceOfObserver(const doctor::Diagnosis& diagnosis) {
  const Finding* observer = FindingById(diagnosis, "observer-effect");
  if (observer == nullptr || !diagnosis.replay) return ObserverPlace::kNowhere;
  return observer == &diagnosis.findings.front() ? ObserverPlace::kFirst : ObserverPlace::kLast;
}

std::string ObserverSentence(const doctor::ReplayFacts& replay, const Style& style) {
  const std::string timed =
      replay.timed_steps > 0
          ? fmt::format(", by {} after it",
                        Count(static_cast<std::uint64_t>(replay.timed_steps), "step"))
          : "";
  return fmt::format(
      "the profiler slows this program: {} ms recorded, about {} ms without it ({}{}); gains count "
      "from there",
      MillisText(replay.measured_ns), MillisText(replay.bare.likely_ns),
      RangeText(replay.bare, style), timed);
}

namespace {

constexpr std::size_t kMostNamed = 3;

// "finding 2", "findings 1, 3 and 4", "5 findings".
std::string Named(const std::vector<std::size_t>& numbers) {
  if (numbers.size() > kMostNamed) return Count(numbers.size(), "finding");
  std::string text = numbers.size() == 1 ? "finding" : "findings";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool last = i > 0 && i + 1 == numbers.size();
    text += fmt::format("{}{}", i == 0 ? " " : last ? " and " : ", ", numbers[i]);
  }
  return text;
}

}  // namespace

std::string TogetherSentence(const doctor::Diagnosis& diagnosis, const Style& style) {
  const doctor::ReplayFacts& replay = *diagnosis.replay;
  std::vector<std::size_t> fixed, left;
  const std::vector<const Finding*> advice = Advice(diagnosis);
  for (std::size_t i = 0; i < advice.size(); ++i) {
    (advice[i]->predicted ? fixed : left).push_back(i + 1);
  }
  const std::string what =
      fixed.size() == 1 ? fmt::format("with {} fixed", Named(fixed)) : "together";
  const std::string without = left.empty()
                                  ? ""
                                  : fmt::format(" ({} not counted: the replay has no model of {})",
                                                Named(left), left.size() == 1 ? "it" : "them");
  // The headline has the step as it was recorded; where they differ, this says why.
  const std::string bare = MillisText(replay.bare.likely_ns);
  const bool said = PlaceOfObserver(diagnosis) != ObserverPlace::kNowhere;
  return fmt::format(
      "{}{}: {}{}{} ms {} predicted ({}){}; the replay reproduces the measured step within {}",
      what, without, bare, style.arrow(), MillisText(replay.together->likely_ns),
      PerStepText(*replay.together), RangeText(*replay.together, style),
      said || bare == MillisText(replay.measured_ns) ? "" : ", both without the recorder",
      WithinText(replay.error));
}

std::string HalfSentence(const doctor::ReplayFacts& replay, const Style& style) {
  return fmt::format(
      "half precision is left to try: {}{} ms {} predicted ({}) under torch.autocast(\"cuda\", "
      "torch.{}); it rounds more coarsely, hone tune checks what it learns",
      replay.together ? "on top of that " : "", MillisText(replay.half->likely_ns),
      PerStepText(*replay.half), RangeText(*replay.half, style), replay.half_dtype);
}

std::string HealthySentence(const Finding& healthy, const Style& style) {
  std::string text = style.Clean(healthy.title);
  for (const std::string& evidence : healthy.evidence) text += "; " + style.Clean(evidence);
  return text;
}

std::string NothingSentence(const doctor::Diagnosis& diagnosis, const Known<Breakdown>& breakdown) {
  const std::size_t judged = diagnosis.rules - diagnosis.not_checked.size();
  if (judged == 0) return "no rule can judge this trace";
  std::string text = fmt::format("nothing found by {}", Count(judged, "rule"));
  // The largest part in which the device does not compute is what one would like explained.
  const BreakdownRow* most = nullptr;
  if (breakdown) {
    for (const BreakdownRow& row : breakdown->rows) {
      const bool waits = row.cause || row.id == "comm" || row.id == "copy";
      if (waits && (most == nullptr || row.time_ns > most->time_ns)) most = &row;
    }
  }
  if (most == nullptr || breakdown->total_ns <= 0) return text;
  const std::string share =
      Percent(static_cast<double>(most->time_ns) / static_cast<double>(breakdown->total_ns));
  if (!most->cause) {
    const bool copies = most->id == "copy";
    return text +
           fmt::format(" explains the {} that nothing hides ({} of the time); see --table {}",
                       copies ? "copies" : "communication", share,
                       copies ? "transfers" : "collectives");
  }
  return text +
         fmt::format(" explains the idle time; most of it ({} of the time) is {}; see --table idle",
                     share, analyze::IdleCauseText(*most->cause));
}

std::string BusiestSentence(const doctor::BusiestLine& busiest, const Style& style) {
  const analyze::SourceFrame frame = analyze::ParseFrame(busiest.frame);
  return fmt::format(
      "{} of the time is spent at {}:{} ({}) and in what it calls; see --table python",
      Percent(busiest.share), style.Clean(frame.file), frame.line, style.Clean(frame.function));
}

std::string BusiestSentence(const doctor::BusiestKernel& busiest, const Style& style) {
  std::string text =
      fmt::format("one kernel takes {} of the device's time, and no finding is about it: {}",
                  Percent(busiest.share), style.Clean(ShortKernelName(busiest.name)));
  if (!busiest.op.empty()) text += ", launched by " + style.Clean(busiest.op);
  if (!busiest.source.empty()) text += ", " + style.Clean(busiest.source);
  return text;
}

std::string PlaceText(const doctor::Place& place, const Style& style) {
  constexpr std::size_t kMostName = 60;  // columns of one name among others
  std::vector<std::string> parts;
  for (const std::string& text :
       {place.source, place.op, ShortKernelName(place.kernel), place.thread, place.step}) {
    if (!text.empty()) parts.push_back(ElideMiddle(style.Clean(text), kMostName, style.utf8));
  }
  if (place.duration_ns >= 0) parts.push_back(HumanDuration(place.duration_ns));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace hone::report
