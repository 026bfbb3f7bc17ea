// SPDX-License-Identifier: Apache-2.0
#include "trace/trace.h"

namespace hone::trace {

const char* FormatName(Format format) {
  switch (format) {
    case Format::kKineto: return "kineto";
    case Format::kNsys: return "nsys";
    case Format::kHone: return "hone";
  }
  return "unknown";
}

}  // namespace hone::trace
