// SPDX-License-Identifier: Apache-2.0
#include "doctor/driver_memory.h"

#include <vector>

#include "replay/edits/autotune_in_loop.h"

namespace hone::doctor {
namespace {

using analyze::ApiClass;
using trace::kNoRow;
using trace::RowId;

bool IsHostMemory(std::string_view name) {
  return name.find("Host") != std::string_view::npos;  // cudaHostAlloc, cudaMallocHost, …Register
}

}  // namespace

DriverMemory CountDriverMemory(const replay::Model& model) {
  const trace::Trace& trace = model.trace();
  const trace::HostSlices& host = trace.host;
  DriverMemory found;
  // Innermost operators: what has been given back inside, and whether it counts already.
  struct State {
    Nanos freed_ns = 0;
    bool freed = false, counted = false;
  };
  std::vector<State> state(host.size());
  std::vector<std::uint8_t> searches(host.size(), 0);
  for (const replay::AlgorithmSearch& search : replay::FindSearches(model)) {
    searches[search.op] = 1;
  }
  for (RowId i = 0; i < host.size(); ++i) {
    const RowId parent = host.parent[i];
    if (parent != kNoRow && searches[parent] != 0) searches[i] = 1;
    const ApiClass what = model.calls()[i];
    if ((what != ApiClass::kAllocate && what != ApiClass::kFree) || !model.InWindow(i)) continue;
    if (parent != kNoRow && model.calls()[parent] == what) continue;  // a driver call inside
    const Nanos length = host.duration_ns[i];
    found.total_ns += length;
    if (found.longest == kNoRow || length > host.duration_ns[found.longest]) found.longest = i;
    const RowId op = model.lineage().op[i];
    if (what == ApiClass::kFree) {
      ++found.frees;
      if (op == kNoRow) {
        ++found.frees_outside;
        found.frees_outside_ns += length;
      } else if (searches[i] == 0) {
        state[op].freed = true;
        state[op].freed_ns += length;
      }
      continue;
    }
    ++found.allocations;
    if (IsHostMemory(trace.HostName(i))) ++found.host_allocations;
    if (op == kNoRow || !state[op].freed) continue;
    found.retries_ns += length + state[op].freed_ns;
    state[op].freed_ns = 0;
    if (state[op].counted) continue;
    state[op].counted = true;
    ++found.retries;
    if (found.retry == kNoRow || host.duration_ns[op] > host.duration_ns[found.retry]) {
      found.retry = op;
    }
  }
  return found;
}

}  // namespace hone::doctor
