// SPDX-License-Identifier: Apache-2.0
// The normal and Student's distributions, for intervals of few values.
#pragma once

namespace hone::stats {

double NormalCdf(double z);
// P(T <= t) with `degrees` > 0 degrees of freedom, to about 1e-12 (continued fraction of the
// incomplete beta function).
double StudentCdf(double t, double degrees);
// The t with P(T <= t) = share, 0 < share < 1; by bisection, some microseconds.
double StudentQuantile(double share, double degrees);

}  // namespace hone::stats
