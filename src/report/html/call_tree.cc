// SPDX-License-Identifier: Apache-2.0
#include "report/html/call_tree.h"

#include <algorithm>
#include <numeric>

#include "analyze/grouping.h"

namespace hone::report {

using analyze::SaturatingAdd;

std::uint32_t CallTree::Child(std::uint32_t parent, std::uint32_t name) {
  const auto fresh = static_cast<std::uint32_t>(nodes_.size());
  const auto [found, is_new] = index_.try_emplace(analyze::PairKey(parent, name), fresh);
  if (is_new) nodes_.push_back({name, parent});
  return found->second;
}

CallTree::Totals CallTree::Sum() const {
  Totals totals;
  for (const Node& node : nodes_) {
    totals.host.push_back(std::max<Nanos>(0, node.self_ns));
    totals.device.push_back(node.device_ns);
  }
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    const std::uint32_t parent = nodes_[i].parent;
    if (parent == kRoot) continue;
    totals.host[parent] = SaturatingAdd(totals.host[parent], totals.host[i]);
    totals.device[parent] = SaturatingAdd(totals.device[parent], totals.device[i]);
  }
  return totals;
}

std::vector<std::uint32_t> CallTree::Largest(const Totals& totals) const {
  std::vector<std::uint32_t> order(nodes_.size());
  std::iota(order.begin(), order.end(), 0);
  if (nodes_.size() > kMostNodes) {
    // A parent has at least what its children have and stands before them: it is kept with them.
    const auto larger = [&](std::uint32_t a, std::uint32_t b) {
      const Nanos one = std::max(totals.host[a], totals.device[a]);
      const Nanos other = std::max(totals.host[b], totals.device[b]);
      return one != other ? one > other : a < b;
    };
    std::nth_element(order.begin(), order.begin() + kMostNodes, order.end(), larger);
    order.resize(kMostNodes);
    std::sort(order.begin(), order.end());
  }
  std::vector<std::uint32_t> number(nodes_.size(), kRoot);
  for (std::uint32_t i = 0; i < order.size(); ++i) number[order[i]] = i;
  return number;
}

void CallTree::Write(JsonWriter& json, bool sampled, bool device) const {
  const Totals totals = Sum();
  const std::vector<std::uint32_t> number = Largest(totals);
  const auto column = [&](const char* key, auto&& value) {
    json.Key(key).BeginArray(JsonWriter::Layout::kInline);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (number[i] != kRoot) json.Int(value(i));
    }
    json.EndArray();
  };
  json.BeginObject();
  json.Field("unit", "ns");
  json.Field("sampled", sampled);
  column("name", [&](std::size_t i) { return static_cast<std::int64_t>(nodes_[i].name); });
  column("parent", [&](std::size_t i) {
    const std::uint32_t parent = nodes_[i].parent;
    return parent == kRoot ? std::int64_t{-1} : static_cast<std::int64_t>(number[parent]);
  });
  column("self", [&](std::size_t i) { return std::max<Nanos>(0, nodes_[i].self_ns); });
  column("total", [&](std::size_t i) { return totals.host[i]; });
  if (device) {
    column("device", [&](std::size_t i) { return totals.device[i]; });
  } else {
    json.Key("device").Null();
  }
  column("calls", [&](std::size_t i) { return static_cast<std::int64_t>(nodes_[i].calls); });
  json.Field("left_out", nodes_.size() - std::min(nodes_.size(), kMostNodes));
  json.EndObject();
}

}  // namespace hone::report
