// SPDX-License-Identifier: Apache-2.0
// Times of a window as times of one step, or of one second, so that the parts still sum to the
// whole to the nanosecond.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace hone::diff {

// times · numerator / denominator: 1 / steps, or a second / the window.
struct PerUnit {
  std::int64_t numerator = 1, denominator = 1;

  double operator()(std::uint64_t count) const {
    return static_cast<double>(count) * static_cast<double>(numerator) /
           static_cast<double>(denominator);
  }
};

// Hands out parts one after the other; what was handed out is always the rounded sum so far, so no
// part is off by more than a nanosecond and neither is their sum. Times are not negative.
class Spread {
 public:
  explicit Spread(PerUnit unit) : unit_(unit) {}

  Nanos Take(Nanos time_ns) {
    sum_ += time_ns;
    __extension__ using Wide = __int128;
    const Wide twice = 2 * static_cast<Wide>(unit_.denominator);
    const auto upto = static_cast<Nanos>(
        (2 * static_cast<Wide>(sum_) * unit_.numerator + unit_.denominator) / twice);
    const Nanos part = upto - given_;
    given_ = upto;
    return part;
  }

 private:
  PerUnit unit_;
  Nanos sum_ = 0, given_ = 0;
};

}  // namespace hone::diff
