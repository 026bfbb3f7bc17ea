// SPDX-License-Identifier: Apache-2.0
#include "stats/student.h"

#include <cmath>
#include <initializer_list>

#include "base/check.h"

namespace hone::stats {
namespace {

// lgamma writes to a global; this does not.
double LogGamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// Lentz's method for the continued fraction of the incomplete beta function (Numerical Recipes
// 6.4); converges quickly for x < (a + 1) / (a + b + 2).
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double fraction = d;
  for (int m = 1; m <= 300; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    for (const double term : {even, odd}) {
      d = 1 + term * d;
      d = 1 / (std::abs(d) < kTiny ? kTiny : d);
      c = 1 + term / c;
      if (std::abs(c) < kTiny) c = kTiny;
      fraction *= c * d;
    }
    if (std::abs(c * d - 1) < 1e-14) break;
  }
  return fraction;
}

double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(LogGamma(a + b) - LogGamma(a) - LogGamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, 1 - x) / b;
}

}  // namespace

double NormalCdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

double StudentCdf(double t, double degrees) {
  const double tail = 0.5 * IncompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t));
  return t > 0 ? 1 - tail : tail;
}

double StudentQuantile(double share, double degrees) {
  HONE_CHECK(share > 0 && share < 1 && degrees > 0);
  if (share > 0.5) return -StudentQuantile(1 - share, degrees);
  double low = -1, high = 0;
  while (StudentCdf(low, degrees) > share && low > -1e12) low *= 2;
  for (int i = 0; i < 200 && high - low > 1e-12 * -low; ++i) {
    const double middle = (low + high) / 2;
    (StudentCdf(middle, degrees) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace hone::stats
