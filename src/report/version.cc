// SPDX-License-Identifier: Apache-2.0
#include "report/version.h"

#ifndef HONE_VERSION
#define HONE_VERSION "unknown"
#endif

namespace hone::report {

const char* Version() { return HONE_VERSION; }

}  // namespace hone::report
