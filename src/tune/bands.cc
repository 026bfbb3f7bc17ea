// SPDX-License-Identifier: Apache-2.0
#include "tune/bands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace hone::tune {
namespace {

// docs/design/tune.md has the source or the simulation of each.
constexpr double kFloat32 = 1.2e-7;     // one rounding
constexpr double kRoundings = 4;        // of them a step, for exact treatments
constexpr double kSameSpread = 4;       // times what same-seed runs differ by
constexpr double kOtherSpread = 3;      // times what other seeds differ by
constexpr double kLowPrecision = 0.01;  // of the loss: what rounding to 8 bits may change
constexpr double kSmallLoss = 0.1;  // of the largest loss: below it relative errors mean nothing
constexpr double kLeastDrift = 0.015, kMostDrift = 0.03;  // of the loss, over the run
constexpr double kDriftErrors = 4;

Curves SmoothAll(const std::vector<Trial>& trials, std::size_t steps) {
  Curves curves;
  for (const Trial& trial : trials) curves.push_back(Smooth(trial.losses, steps).means);
  return curves;
}

std::string Show(double value) { return fmt::format("{:.4g}", value); }

void SetMiddle(Bands& bands) {
  double largest = 0;
  for (std::size_t w = 0; w < bands.same[0].size(); ++w) {
    double sum = 0, count = 0, low = 0, high = 0;
    for (const std::vector<double>& curve : bands.same) {
      if (!std::isfinite(curve[w])) continue;
      low = count == 0 ? curve[w] : std::min(low, curve[w]);
      high = count == 0 ? curve[w] : std::max(high, curve[w]);
      sum += curve[w];
      ++count;
    }
    bands.middle.push_back(count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN());
    if (count > 0) largest = std::max(largest, std::abs(bands.middle.back()));
    // Runs that have come apart do not come together again.
    const double before = bands.same_gap.empty() ? 0 : bands.same_gap.back();
    bands.same_gap.push_back(std::max(before, high - low));
  }
  // Few runs agree by chance for a while: what they come to a window later counts already.
  for (std::size_t w = 0; w + 1 < bands.same_gap.size(); ++w) {
    bands.same_gap[w] = bands.same_gap[w + 1];
  }
  for (const double middle : bands.middle) {
    bands.scale.push_back(std::isfinite(middle) ? std::max(std::abs(middle), kSmallLoss * largest)
                                                : largest);
  }
}

// The largest in this window and its neighbours, and at least the root mean square of all, each
// relative to its scale: few runs are close together somewhere by chance.
void SetOtherGap(Bands& bands) {
  const std::size_t count = bands.middle.size();
  std::vector<double> largest(count, 0);
  double squares = 0, values = 0;
  for (const std::vector<double>& curve : bands.other) {
    for (std::size_t w = 0; w < count; ++w) {
      const double gap = std::abs(curve[w] - bands.middle[w]);
      if (!std::isfinite(gap)) continue;
      largest[w] = std::max(largest[w], gap);
      squares += gap * gap / (bands.scale[w] * bands.scale[w]);
      ++values;
    }
  }
  const double usual = values > 0 ? std::sqrt(squares / values) : 0;
  for (std::size_t w = 0; w < count; ++w) {
    double gap = usual * bands.scale[w];
    for (std::size_t near = w == 0 ? 0 : w - 1; near <= std::min(w + 1, count - 1); ++near) {
      gap = std::max(gap, largest[near]);
    }
    bands.other_gap.push_back(gap);
  }
}

// How far from the middle a curve may lie.
double Allowed(const Bands& bands, std::size_t window, std::int64_t step, Risk risk) {
  const double exact = kSameSpread * bands.same_gap[window] +
                       kRoundings * kFloat32 * static_cast<double>(step) * bands.scale[window];
  if (risk == Risk::kExact) return exact;
  return std::max(exact, kOtherSpread * bands.other_gap[window]) +
         kLowPrecision * bands.scale[window];
}

// The most that the program's own runs move away from each other over the run.
double OwnDrift(const Bands& bands) {
  double own = kLeastDrift;
  for (const Curves* curves : {&bands.same, &bands.other}) {
    for (const std::vector<double>& curve : *curves) {
      std::vector<double> gaps;
      for (std::size_t w = 0; w < curve.size(); ++w) {
        const double gap = (curve[w] - bands.middle[w]) / bands.scale[w];
        if (std::isfinite(gap)) gaps.push_back(gap);
      }
      own = std::max(own, std::abs(DriftOf(gaps).change));
    }
  }
  return std::min(own, kMostDrift);
}

}  // namespace

Bands MakeBands(const std::vector<Trial>& same, const std::vector<Trial>& other,
                std::size_t steps) {
  Bands bands;
  bands.same = SmoothAll(same, steps);
  bands.other = SmoothAll(other, steps);
  SetMiddle(bands);
  SetOtherGap(bands);
  return bands;
}

std::string CompareCurves(const Bands& bands, const Windows& treated, Risk risk, bool drawn_anew) {
  std::vector<double> differences;
  for (std::size_t w = 0; w < treated.means.size(); ++w) {
    const double difference = treated.means[w] - bands.middle[w];
    const double allowed = Allowed(bands, w, treated.last_step[w], risk);
    if (!std::isfinite(bands.middle[w])) continue;
    if (!(std::abs(difference) <= allowed)) {
      return fmt::format("loss {} where the program's own runs give {} to {} (step {})",
                         Show(treated.means[w]), Show(bands.middle[w] - allowed),
                         Show(bands.middle[w] + allowed), treated.last_step[w]);
    }
    differences.push_back(difference / bands.scale[w]);
  }
  // With samples drawn anew the path is another seed's, and those drift apart as they like.
  if (risk == Risk::kExact || drawn_anew) return "";
  const Drift drift = DriftOf(differences);
  const double own = OwnDrift(bands);
  if (std::abs(drift.change) > own && std::abs(drift.in_errors) > kDriftErrors) {
    return fmt::format(
        "its loss moves away from the program's own, by {} over {} steps ({} is usual)",
        Percent(std::abs(drift.change)), treated.last_step.back(), Percent(own));
  }
  return "";
}

}  // namespace hone::tune
