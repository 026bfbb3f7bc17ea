// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "report/bench/bench_words.h"

namespace hone::cli {

BenchProgress::BenchProgress(std::ostream& err, bool shown, std::size_t width, bool utf8)
    : err_(err), shown_(shown && width >= 40), width_(width), utf8_(utf8) {}

std::string BenchProgress::Line(const bench::ExperimentProgress& progress) const {
  constexpr std::size_t kBar = 20;
  const auto full = std::min(kBar, kBar * static_cast<std::size_t>(progress.pair - 1) /
                                       static_cast<std::size_t>(std::max(progress.pairs, 1)));
  std::string line;
  for (std::size_t i = 0; i < kBar; ++i) {
    line += i < full ? (utf8_ ? "█" : "#") : (utf8_ ? "░" : "-");
  }
  line += fmt::format(" pair {} of {}, {} runs", progress.pair, progress.pairs, progress.arm);
  if (progress.left_s) {
    const double left = std::max(*progress.left_s, 1.0);
    line += left < 90 ? fmt::format("  at most {:.0f} s left", left)
                      : fmt::format("  at most {} left",
                                    HumanDuration(static_cast<Nanos>(left) * 1'000'000'000));
  }
  if (progress.latest != nullptr && progress.latest->judgement.known) {
    line += fmt::format("  so far {} {}", report::RatioText(progress.latest->judgement.ratio),
                        report::IntervalText(*progress.latest, utf8_ ? "–" : "-"));
  }
  // One column stays free: a full line makes some terminals wrap.
  return ElideMiddle(line, width_ - 1, utf8_);
}

void BenchProgress::Progress(const bench::ExperimentProgress& progress) {
  if (!shown_ || progress.elapsed_s < 1) return;
  visible_ = true;
  err_ << "\r\033[K" << Line(progress) << std::flush;
}

void BenchProgress::Erase() {
  if (!visible_) return;
  visible_ = false;
  err_ << "\r\033[K" << std::flush;
}

}  // namespace hone::cli
