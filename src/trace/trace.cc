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

void Trace::ReleaseRows() {
  host = {};
  device = {};
  syncs = {};
  events = {};
  memory = {};
  counters = {};
  samples = {};
  instants = {};
  flows = {};
  device_annotations = {};
  for (Thread& thread : threads) thread.first_slice = thread.last_slice = 0;
}

}  // namespace hone::trace
