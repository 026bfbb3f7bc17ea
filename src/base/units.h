// SPDX-License-Identifier: Apache-2.0
// Units of measure used everywhere. Times are integer nanoseconds and never floating point: a
// PyTorch timestamp has up to 19 significant digits and a double keeps 15.
#pragma once

#include <cstdint>

namespace hone {

using Nanos = std::int64_t;  // a time point or a duration, in nanoseconds
using Bytes = std::int64_t;

inline constexpr Nanos kMicrosecond = 1'000;
inline constexpr Nanos kMillisecond = 1'000'000;
inline constexpr Nanos kSecond = 1'000'000'000;

// For display and for ratios only.
constexpr double ToMillis(Nanos t) { return static_cast<double>(t) / 1e6; }
constexpr double ToMicros(Nanos t) { return static_cast<double>(t) / 1e3; }
constexpr double ToSeconds(Nanos t) { return static_cast<double>(t) / 1e9; }

}  // namespace hone
