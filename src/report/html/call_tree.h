// SPDX-License-Identifier: Apache-2.0
// CallTree: calls with the same name and the same callers merged into one node.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/json_writer.h"
#include "base/units.h"

namespace hone::report {

// A browser lays out this many rectangles at once without a pause; the largest are kept.
inline constexpr std::size_t kMostNodes = 20'000;

class CallTree {
 public:
  static constexpr std::uint32_t kRoot = UINT32_MAX;  // what outermost calls are made from

  // The node of `name` (a page string) called from `parent`.
  std::uint32_t Child(std::uint32_t parent, std::uint32_t name);
  // Time that the node spent itself, not in its children.
  void AddSelf(std::uint32_t node, Nanos time_ns) { nodes_[node].self_ns += time_ns; }
  void AddDevice(std::uint32_t node, Nanos time_ns) { nodes_[node].device_ns += time_ns; }
  void AddCalls(std::uint32_t node, std::uint64_t calls) { nodes_[node].calls += calls; }

  std::size_t size() const { return nodes_.size(); }

  // The TREE of docs/design/page.md. Device time is left out (null) unless `device`.
  void Write(JsonWriter& json, bool sampled, bool device) const;

 private:
  struct Node {
    std::uint32_t name, parent;
    Nanos self_ns = 0, device_ns = 0;
    std::uint64_t calls = 0;
  };
  struct Totals {
    std::vector<Nanos> host, device;
  };
  Totals Sum() const;
  // New numbers of the nodes that are written; kRoot for the others.
  std::vector<std::uint32_t> Largest(const Totals& totals) const;

  std::vector<Node> nodes_;                                 // parents before children
  std::unordered_map<std::uint64_t, std::uint32_t> index_;  // (parent, name)
};

}  // namespace hone::report
