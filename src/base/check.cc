// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace hone {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "hone: internal error at %s:%d: %s does not hold; please report this\n",
               file, line, condition);
  std::abort();
}

}  // namespace hone
