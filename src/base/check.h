// SPDX-License-Identifier: Apache-2.0
// HONE_CHECK stops the program on a bug of ours. It is never reachable from input data: bad input
// is an Error (base/result.h) or a counted loss (base/loss.h).
#pragma once

namespace hone {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace hone

#define HONE_CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::hone::CheckFailed(__FILE__, __LINE__, #condition))
