// SPDX-License-Identifier: Apache-2.0
#include "diff/match.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace hone::diff {
namespace {

using Key = std::array<std::uint32_t, 4>;
using Group = std::vector<const Place*>;  // places of one side, in the order of their positions

std::uint32_t Number(StringId id) { return static_cast<std::uint32_t>(id); }

Amount Sum(const Group& group) {
  Amount sum;
  for (const Place* place : group) {
    sum.count += place->amount.count;
    sum.sum_ns += place->amount.sum_ns;
    sum.exposed_ns += place->amount.exposed_ns;
  }
  return sum;
}

const Place* Largest(const Group& group) {
  return group.empty()
             ? nullptr
             : *std::max_element(group.begin(), group.end(), [](const Place* a, const Place* b) {
                 return a->exposed_ns < b->exposed_ns;
               });
}

std::size_t DistinctKernels(const Group& group) {
  std::vector<StringId> names;
  for (const Place* place : group) names.push_back(place->kernel);
  std::sort(names.begin(), names.end());
  return static_cast<std::size_t>(std::unique(names.begin(), names.end()) - names.begin());
}

// Δ(count · mean) = Δcount · the mean of both means + Δmean · the mean of both counts: exact, and
// the same seen from either side. The rest of what changed is overlap.
void SplitEffects(PlaceChange& change) {
  if (change.fate != Fate::kKept) return;
  const Amount &a = change.before, &b = change.after;
  if (a.count > 0 && b.count > 0) {
    const double mean =
        (static_cast<double>(a.sum_ns) / a.count + static_cast<double>(b.sum_ns) / b.count) / 2;
    change.count_effect_ns = std::llround((b.count - a.count) * mean);
  }
  change.rate_effect_ns = b.sum_ns - a.sum_ns - change.count_effect_ns;
  change.overlap_effect_ns = change.delta_ns() - (b.sum_ns - a.sum_ns);
}

PlaceChange Make(const Group& before, const Group& after, Fate fate) {
  PlaceChange change;
  change.fate = fate;
  change.before = Sum(before);
  change.after = Sum(after);
  const Place *a = Largest(before), *b = Largest(after);
  if (a != nullptr) {
    change.op_before = a->op;
    change.kernel_before = a->kernel;
    change.kernels_before = DistinctKernels(before);
  }
  if (b != nullptr) {
    change.op_after = b->op;
    change.kernel_after = b->kernel;
    change.kernels_after = DistinctKernels(after);
  }
  // What both have; of two, the place with more time, so that swapping sides changes nothing.
  const Place* shown = a == nullptr ? b : b == nullptr ? a : a->exposed_ns > b->exposed_ns ? a : b;
  change.path = shown->path;
  change.work_class = shown->work_class;
  change.phase = shown->phase;
  const bool same_shape = a == nullptr || b == nullptr || a->shape == b->shape;
  change.shape = same_shape ? shown->shape : StringId::kEmpty;
  SplitEffects(change);
  return change;
}

class Matcher {
 public:
  Matcher(const std::vector<Place>& before, const std::vector<Place>& after) {
    for (const Place& place : before) left_[0].push_back(&place);
    for (const Place& place : after) left_[1].push_back(&place);
    for (Group& group : left_) {
      std::stable_sort(group.begin(), group.end(),
                       [](const Place* a, const Place* b) { return a->first < b->first; });
    }
  }

  // Joins what is left on both sides and has the same key. `key` returns false for places that
  // take no part. As many on both sides: by position, one to one; else all of them together.
  template <typename KeyOf>
  void Pass(Fate fate, const KeyOf& key_of) {
    std::map<Key, std::array<Group, 2>> groups;
    std::array<Group, 2> rest;
    for (std::size_t side = 0; side < 2; ++side) {
      for (const Place* place : left_[side]) {
        Key key{};
        if (key_of(*place, key)) {
          groups[key][side].push_back(place);
        } else {
          rest[side].push_back(place);
        }
      }
    }
    for (auto& [key, sides] : groups) {
      if (sides[0].empty() || sides[1].empty()) {
        for (std::size_t side = 0; side < 2; ++side) {
          rest[side].insert(rest[side].end(), sides[side].begin(), sides[side].end());
        }
      } else if (sides[0].size() == sides[1].size()) {
        for (std::size_t i = 0; i < sides[0].size(); ++i) {
          changes_.push_back(Make({sides[0][i]}, {sides[1][i]}, fate));
        }
      } else {
        changes_.push_back(Make(sides[0], sides[1], fate));
      }
    }
    left_ = std::move(rest);
    for (Group& group : left_) {
      std::stable_sort(group.begin(), group.end(),
                       [](const Place* a, const Place* b) { return a->first < b->first; });
    }
  }

  std::vector<PlaceChange> Finish() {
    for (const Place* place : left_[0]) changes_.push_back(Make({place}, {}, Fate::kVanished));
    for (const Place* place : left_[1]) changes_.push_back(Make({}, {place}, Fate::kAppeared));
    return std::move(changes_);
  }

 private:
  std::array<Group, 2> left_;  // before, after
  std::vector<PlaceChange> changes_;
};

// Loose names by id, each made once.
class LooseNames {
 public:
  explicit LooseNames(Names& names) : names_(names) {}
  std::uint32_t operator()(StringId id) {
    const auto [at, added] = known_.try_emplace(id, 0U);
    if (added) at->second = Number(names_.Intern(LooseName(names_[id])));
    return at->second;
  }

 private:
  Names& names_;
  std::map<StringId, std::uint32_t> known_;
};

// A whole order that does not ask which side is which.
void SortBySize(std::vector<PlaceChange>& changes, const Names& names) {
  const auto text = [&](const PlaceChange& change) {
    std::array<std::string_view, 4> both = {names[change.op_before], names[change.op_after],
                                            names[change.kernel_before],
                                            names[change.kernel_after]};
    if (both[1] < both[0]) std::swap(both[0], both[1]);
    if (both[3] < both[2]) std::swap(both[2], both[3]);
    return std::tuple(both, names[change.shape], change.path);
  };
  std::stable_sort(changes.begin(), changes.end(), [&](const PlaceChange& a, const PlaceChange& b) {
    const Nanos size_a = std::abs(a.delta_ns()), size_b = std::abs(b.delta_ns());
    if (size_a != size_b) return size_a > size_b;
    const Nanos time_a = a.before.exposed_ns + a.after.exposed_ns;
    const Nanos time_b = b.before.exposed_ns + b.after.exposed_ns;
    return time_a != time_b ? time_a > time_b : text(a) < text(b);
  });
}

}  // namespace

const char* FateName(Fate fate) {
  switch (fate) {
    case Fate::kKept: return "kept";
    case Fate::kReplaced: return "replaced";
    case Fate::kAppeared: return "appeared";
    case Fate::kVanished: return "vanished";
  }
  return "kept";
}

std::vector<PlaceChange> MatchPlaces(const std::vector<Place>& before,
                                     const std::vector<Place>& after, Names& names) {
  Matcher matcher(before, after);
  LooseNames loose(names);
  const auto pass = [&](Fate fate, auto key_of) { matcher.Pass(fate, key_of); };
  // From the strictest agreement to the loosest. 0 stands for "do not ask".
  pass(Fate::kKept, [](const Place& place, Key& key) {
    key = {place.path, Number(place.op), Number(place.shape), Number(place.kernel)};
    return true;
  });
  pass(Fate::kKept, [](const Place& place, Key& key) {
    key = {0, Number(place.op), Number(place.shape), Number(place.kernel)};
    return true;
  });
  pass(Fate::kKept, [](const Place& place, Key& key) {
    key = {0, Number(place.op), 0, Number(place.kernel)};
    return true;
  });
  pass(Fate::kKept, [&](const Place& place, Key& key) {
    key = {0, loose(place.op), 0, loose(place.kernel)};
    return true;
  });
  // The same operator with other kernels: renamed, or replaced.
  for (const bool with_path : {true, false}) {
    for (const bool with_shape : {true, false}) {
      pass(Fate::kReplaced, [=](const Place& place, Key& key) {
        key = {with_path ? place.path : 0, Number(place.op), with_shape ? Number(place.shape) : 0,
               0};
        return place.op != StringId::kEmpty && place.kernel != StringId::kEmpty;
      });
    }
  }
  // The same kernel, launched by another operator of the same part of the step; anywhere where one
  // of the traces knows no operators, and so no parts.
  pass(Fate::kKept, [&](const Place& place, Key& key) {
    key = {0, 0, static_cast<std::uint32_t>(place.phase) + 1, loose(place.kernel)};
    return place.kernel != StringId::kEmpty;
  });
  const auto knows = [](const std::vector<Place>& places) {
    return std::any_of(places.begin(), places.end(),
                       [](const Place& place) { return place.op != StringId::kEmpty; });
  };
  if (!knows(before) || !knows(after)) {
    pass(Fate::kKept, [&](const Place& place, Key& key) {
      key = {0, 0, 0, loose(place.kernel)};
      return place.kernel != StringId::kEmpty;
    });
  }
  std::vector<PlaceChange> changes = matcher.Finish();
  SortBySize(changes, names);
  return changes;
}

}  // namespace hone::diff
