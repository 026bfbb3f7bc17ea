// SPDX-License-Identifier: Apache-2.0
#include "analyze/comm_transfer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>

namespace hone::analyze {
namespace {

double BytesOf(const CollectiveRun& run) {
  return run.message_bytes && *run.message_bytes > 0 ? *run.message_bytes : 0;
}

// Of runs of one kind and group.
void BoundAlike(const CommFacts& comm, std::vector<std::size_t>& alike,
                std::vector<Nanos>& bounds) {
  std::stable_sort(alike.begin(), alike.end(), [&](std::size_t a, std::size_t b) {
    return BytesOf(comm.runs[a]) > BytesOf(comm.runs[b]);
  });
  // The run that moved most bytes a second; many like it make up any size.
  const CollectiveRun* fastest = nullptr;
  double best = 0;
  for (const std::size_t i : alike) {
    const CollectiveRun& run = comm.runs[i];
    if (run.duration_ns <= 0) continue;
    const double rate = BytesOf(run) / static_cast<double>(run.duration_ns);
    if (rate > best) {
      best = rate;
      fastest = &run;
    }
  }
  Nanos shortest = INT64_MAX;  // of those as large or larger
  for (std::size_t first = 0; first < alike.size();) {
    const double bytes = BytesOf(comm.runs[alike[first]]);
    std::size_t end = first;
    for (; end < alike.size() && BytesOf(comm.runs[alike[end]]) == bytes; ++end) {
      shortest = std::min(shortest, comm.runs[alike[end]].duration_ns);
    }
    Nanos bound = bytes > 0 || first == 0 ? shortest : INT64_MAX;
    if (bytes == 0 && first > 0) {
      for (std::size_t i = first; i < end; ++i) {
        bound = std::min(bound, comm.runs[alike[i]].duration_ns);
      }
    }
    if (fastest != nullptr && bytes > 0) {
      const double several =
          std::ceil(bytes / BytesOf(*fastest)) * static_cast<double>(fastest->duration_ns);
      if (several < static_cast<double>(bound)) bound = static_cast<Nanos>(several);
    }
    for (; first < end; ++first) {
      bounds[alike[first]] = std::min(bound, comm.runs[alike[first]].duration_ns);
    }
  }
}

}  // namespace

std::vector<Nanos> BoundTransfers(const CommFacts& comm) {
  std::vector<Nanos> bounds(comm.runs.size(), 0);
  std::map<std::tuple<std::string_view, std::string_view>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < comm.runs.size(); ++i) {
    groups[{comm.runs[i].group, comm.runs[i].kind}].push_back(i);
  }
  for (auto& [key, alike] : groups) BoundAlike(comm, alike, bounds);
  return bounds;
}

}  // namespace hone::analyze
