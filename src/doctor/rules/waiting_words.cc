// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "analyze/waiting_frame.h"
#include "doctor/rules/hotspot_words.h"
#include "doctor/rules/step_facts.h"

namespace hone::doctor {
namespace {

// Once an iteration, at most: between iterations, as far as anybody can tell.
constexpr double kBetweenSteps = 1.05;

double TimesAStep(const Case& the_case, const replay::Hotspot& hotspot) {
  return static_cast<double>(hotspot.times) /
         static_cast<double>(the_case.whatif->model().graph().steps);
}

}  // namespace

bool OnceAStep(const Case& the_case, const replay::Hotspot& hotspot) {
  return hotspot.times == 0 || TimesAStep(the_case, hotspot) <= kBetweenSteps;
}

bool MayIdle(const Case& the_case) { return !Trains(the_case); }

void SellNothing(const char* why, Finding& finding) {
  finding.explains = std::move(finding.fix);
  finding.fix.clear();
  finding.recoverable_ns = Known<double>::Absent(why);
  finding.effort = Effort::kNone;
}

void NameIdle(const Case& the_case, const replay::Hotspot& hotspot, Finding& finding) {
  const std::string_view frame = the_case.trace.Name(hotspot.wait);
  const analyze::WaitsFor what = analyze::WaitOfFrame(frame);
  const char* const when = OnceAStep(the_case, hotspot) ? "between steps " : "";
  const std::string in = analyze::WaitText(frame);
  finding.title =
      what == analyze::WaitsFor::kClock ? fmt::format("{}the program sleeps", when)
      : what == analyze::WaitsFor::kOutside
          ? fmt::format("{}the program waits for requests: {}", when, in)
          : fmt::format("{}the program waits for requests or another thread: {}", when, in);
  finding.severity = Severity::kInfo;
  finding.confidence = Confidence::kMedium;
  SellNothing("what it waits for decides how long", finding);
  finding.remedy =
      what == analyze::WaitsFor::kClock
          ? "# nothing, if it looks for work now and then; a sleep that was left in can go\n"
          : "# nothing, if no more requests come: this time is room for more of them\n"
            "# else ask for what it waits for a step ahead, or make faster who sends it\n";
}

void NameWait(const Case& the_case, const replay::Hotspot& hotspot, std::string_view who,
              Finding& finding) {
  const std::string_view frame = the_case.trace.Name(hotspot.wait);
  const bool sleeps = analyze::WaitOfFrame(frame) == analyze::WaitsFor::kClock;
  const std::string in = sleeps || hotspot.wait == StringId::kEmpty
                             ? ""
                             : fmt::format(" in {}", analyze::WaitText(frame));
  finding.title =
      fmt::format("{} {}{}, and takes the time of the step", who, sleeps ? "sleeps" : "waits", in);
  finding.confidence = Confidence::kMedium;
  finding.remedy =
      sleeps
          ? "# a sleep that was left in can go; in place of one that looks for something now and\n"
            "# then, wait for it: queue.get(), event.wait()\n"
          : "# ask for it a step ahead, or wait in a thread beside the steps;\n"
            "# else make faster what it waits for: another process, a disk, the network, a "
            "sleep\n";
}

}  // namespace hone::doctor
