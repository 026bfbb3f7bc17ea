// SPDX-License-Identifier: Apache-2.0
#include "cli/tune_progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/terminal.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/bench/bench_words.h"

namespace hone::cli {
namespace {

std::string Seconds(double seconds) {
  return seconds < 90 ? fmt::format("{:.0f} s", seconds)
                      : HumanDuration(static_cast<Nanos>(seconds) * 1'000'000'000);
}

}  // namespace

std::string TrialName(const std::string& purpose, const tune::Recipe& recipe,
                      const tune::Candidate* candidate) {
  if (recipe.empty()) return purpose == "other seed" ? "as it is, another seed" : "as it is";
  if (candidate == nullptr) return "as adopted so far";
  if (purpose == "together") return "+ all that did not help alone";
  if (purpose == "without") return "without: " + candidate->title;
  if (purpose == "alone" || recipe.size() == 1) return candidate->title;
  return "+ " + candidate->title;
}

TuneProgress::TuneProgress(Console& console, bool shown, double budget_s)
    : console_(console),
      shown_(shown),
      terminal_(shown && IsTerminal(console.err_fd)),
      utf8_(LocaleIsUtf8()),
      width_(terminal_ ? std::max<std::size_t>(TerminalWidth(console.err_fd), 60) : 100),
      budget_s_(budget_s) {}

void TuneProgress::Say(const std::string& text) {
  if (!shown_ || text.empty()) return;
  Erase();
  bool first = true;
  for (const std::string& line : WrapWords(Printable(text, utf8_), width_ - 11)) {
    console_.err << (first ? "hone tune: " : "           ") << line << '\n';
    first = false;
  }
  console_.err << std::flush;
}

void TuneProgress::Begin(const std::string& what) {
  now_ = what;
  begun_ = Clock::now();
  Tick();
}

void TuneProgress::Tick() {
  if (!terminal_ || Clock::now() - drawn_ < std::chrono::milliseconds(500)) return;
  const double here = std::chrono::duration<double>(Clock::now() - begun_).count();
  Show(fmt::format("{}  {}  (at most {} left)", now_, Seconds(here),
                   Seconds(std::max(budget_s_ - Elapsed(), 0.0))));
}

void TuneProgress::Show(const std::string& line) {
  drawn_ = Clock::now();
  visible_ = true;
  // One column stays free: a full line makes some terminals wrap.
  console_.err << "\r\033[K  " << ElideMiddle(Printable(line, utf8_), width_ - 3, utf8_)
               << std::flush;
}

void TuneProgress::Erase() {
  if (!visible_) return;
  visible_ = false;
  console_.err << "\r\033[K" << std::flush;
}

void TuneProgress::Started(const Start& start) {
  Begin(fmt::format("{:>2}  {}", start.number,
                    TrialName(start.purpose, start.recipe, start.candidate)));
}

void TuneProgress::Ended(const tune::Trial& trial, const std::string& decision) {
  if (!shown_) return;
  Erase();
  const std::string seconds = trial.from_journal ? "kept" : fmt::format("{:.1f} s", trial.wall_s);
  const std::string name = Printable(now_, utf8_);
  std::vector<std::string> lines = WrapWords(Printable(decision, utf8_), width_ - 46);
  console_.err << "  " << PadRight(ElideMiddle(name, 34, utf8_), 34) << PadLeft(seconds, 8) << "  "
               << lines[0] << '\n';
  for (std::size_t i = 1; i < lines.size(); ++i) {
    console_.err << std::string(46, ' ') << lines[i] << '\n';
  }
  console_.err << std::flush;
}

void TuneProgress::Confirming(const tune::ConfirmOrder&) {
  Begin("proof: as it is and the winner, in turns");
}

void TuneProgress::Progress(const bench::ExperimentProgress& progress) {
  if (!terminal_ || Clock::now() - drawn_ < std::chrono::milliseconds(500)) return;
  std::string line = fmt::format("{}  pair {} of at most {}", now_, progress.pair, progress.pairs);
  if (progress.latest != nullptr && progress.latest->judgement.known) {
    line += fmt::format(", so far {}", report::RatioText(progress.latest->judgement.ratio));
  }
  Show(line);
}

void TuneProgress::Confirmed(const bench::Benchmark& benchmark, const std::string& decision) {
  if (!shown_) return;
  Erase();
  console_.err << "  " << PadRight("proof, in turns", 34)
               << PadLeft(fmt::format("{:.1f} s", benchmark.seconds), 8) << "  "
               << Printable(decision, utf8_) << '\n'
               << std::flush;
}

}  // namespace hone::cli
