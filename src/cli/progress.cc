// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"

namespace hone::cli {

using namespace std::chrono_literals;

Progress::Progress(std::ostream& err, bool shown, std::size_t width, bool utf8)
    : err_(err),
      shown_(shown && width >= 40),
      width_(std::min<std::size_t>(width, 100)),
      utf8_(utf8) {}

std::string Progress::Line(std::uint64_t done, std::uint64_t total, const std::string& what,
                           double seconds) const {
  done = std::min(done, total);
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
  std::string right =
      fmt::format(" {:3.0f} %  {} of {}", share * 100, HumanBytes(static_cast<double>(done)),
                  HumanBytes(static_cast<double>(total)));
  if (share > 0.02 && share < 1) {
    const double left = seconds / share - seconds;
    right += fmt::format("  {:.0f} s left", std::max(left, 1.0));
  }
  constexpr std::size_t kBar = 20;
  const auto full = static_cast<std::size_t>(share * kBar);
  std::string bar;
  for (std::size_t i = 0; i < kBar; ++i) {
    bar += i < full ? (utf8_ ? "█" : "#") : (utf8_ ? "░" : "-");
  }
  const std::size_t taken = kBar + DisplayWidth(right) + 2;
  // One column stays free: a full line makes some terminals wrap.
  const std::size_t name = width_ > taken + 1 ? width_ - taken - 1 : 0;
  return ElideStart(Printable(what, utf8_), name, utf8_) + " " + bar + right;
}

void Progress::Update(std::uint64_t done, std::uint64_t total, const std::string& what) {
  if (!shown_) return;
  const Clock::time_point now = Clock::now();
  if (now - start_ < 1s || now - last_ < 100ms) return;
  last_ = now;
  visible_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  err_ << "\r\033[K" << Line(done, total, what, seconds) << std::flush;
}

void Progress::Erase() {
  if (!visible_) return;
  visible_ = false;
  err_ << "\r\033[K" << std::flush;
}

}  // namespace hone::cli
