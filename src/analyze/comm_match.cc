// SPDX-License-Identifier: Apache-2.0
#include "analyze/comm_match.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analyze/grouping.h"

namespace hone::analyze {
namespace {

using Runs = std::vector<const CollectiveRun*>;

// Shifts tried when counts differ. Windows that cut off more than this share no useful order.
constexpr std::size_t kMostShifts = 64;

bool SameCall(const CollectiveRun& a, const CollectiveRun& b) {
  if (a.kind != b.kind) return false;
  // All-to-all with uneven splits, and gathers, differ in size from rank to rank.
  if (a.kind != "all_reduce" && a.kind != "broadcast") return true;
  return !a.message_bytes || !b.message_bytes || *a.message_bytes == *b.message_bytes;
}

double EndOf(const CollectiveRun& run) {
  return static_cast<double>(run.start_ns) + static_cast<double>(run.duration_ns);
}

// How many leading runs of `longer` to drop so that it lines up with `shorter` best.
std::size_t BestShift(const Runs& shorter, const Runs& longer) {
  const std::size_t most = std::min(longer.size() - shorter.size(), kMostShifts);
  std::size_t best = 0, best_agreeing = 0;
  double best_distance = INFINITY;
  std::vector<Nanos> distances(shorter.size());
  for (std::size_t shift = 0; shift <= most; ++shift) {
    std::size_t agreeing = 0;
    for (std::size_t i = 0; i < shorter.size(); ++i) {
      agreeing += SameCall(*shorter[i], *longer[i + shift]) ? 1 : 0;
      const double distance = std::abs(EndOf(*shorter[i]) - EndOf(*longer[i + shift]));
      distances[i] = static_cast<Nanos>(std::min(distance, 9e18));
    }
    const auto distance = static_cast<double>(Percentile(distances, 0.5));
    if (agreeing > best_agreeing || (agreeing == best_agreeing && distance < best_distance)) {
      best = shift;
      best_agreeing = agreeing;
      best_distance = distance;
    }
  }
  return best;
}

// Key of a run within its group; runs of equal keys are the same collective.
using Keyed = std::vector<std::pair<std::int64_t, const CollectiveRun*>>;

// Several runs may carry one number (coalesced calls): each key then stands so often on all ranks.
std::vector<Keyed> KeyBySequence(const std::vector<Runs>& members) {
  std::vector<Keyed> keyed(members.size());
  for (std::size_t m = 0; m < members.size(); ++m) {
    for (const CollectiveRun* run : members[m]) keyed[m].emplace_back(run->sequence, run);
    std::stable_sort(keyed[m].begin(), keyed[m].end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  return keyed;
}

std::vector<Keyed> KeyByOrder(const std::vector<Runs>& members) {
  std::size_t shortest = 0;
  for (std::size_t m = 1; m < members.size(); ++m) {
    if (members[m].size() < members[shortest].size()) shortest = m;
  }
  std::vector<Keyed> keyed(members.size());
  for (std::size_t m = 0; m < members.size(); ++m) {
    const auto shift = static_cast<std::int64_t>(BestShift(members[shortest], members[m]));
    for (std::size_t i = 0; i < members[m].size(); ++i) {
      keyed[m].emplace_back(static_cast<std::int64_t>(i) - shift, members[m][i]);
    }
  }
  return keyed;
}

// Walks all members in step of their keys.
void Merge(const std::vector<Keyed>& keyed, MatchedGroup& group, Matching& out) {
  std::vector<std::size_t> at(keyed.size(), 0);
  group.runs.resize(keyed.size());
  for (;;) {
    std::int64_t lowest = INT64_MAX;
    bool left = false;
    for (std::size_t m = 0; m < keyed.size(); ++m) {
      if (at[m] == keyed[m].size()) continue;
      left = true;
      lowest = std::min(lowest, keyed[m][at[m]].first);
    }
    if (!left) return;
    bool common = true;
    const CollectiveRun* first = nullptr;
    for (std::size_t m = 0; m < keyed.size(); ++m) {
      const bool has = at[m] < keyed[m].size() && keyed[m][at[m]].first == lowest;
      if (has && first == nullptr) first = keyed[m][at[m]].second;
      common = common && has && keyed[m][at[m]].second->kind == first->kind;
    }
    for (std::size_t m = 0; m < keyed.size(); ++m) {
      if (at[m] == keyed[m].size() || keyed[m][at[m]].first != lowest) continue;
      if (common) group.runs[m].push_back(keyed[m][at[m]].second);
      ++at[m];
    }
    ++(common ? out.matched : out.unmatched);
  }
}

}  // namespace

bool PointToPoint(const CollectiveRun& run) {
  return run.kind == "send" || run.kind == "recv" || run.kind == "send_recv";
}

bool MatchedGroup::synchronizing(std::size_t k) const {
  const std::string& kind = runs.front()[k]->kind;
  return kind == "all_reduce" || kind == "all_gather" || kind == "reduce_scatter" ||
         kind == "all_to_all" || kind == "barrier";
}

Matching MatchCollectives(std::span<const RankComm> ranks) {
  Matching out;
  std::map<std::string_view, std::map<std::size_t, Runs>> by_group;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].comm == nullptr) continue;
    std::string_view last_name;
    Runs* last = nullptr;
    for (const CollectiveRun& run : ranks[r].comm->runs) {
      if (PointToPoint(run)) {
        ++out.point_to_point;
        continue;
      }
      if (last == nullptr || last_name != run.group) {
        last = &by_group[run.group][r];
        last_name = run.group;
      }
      last->push_back(&run);
    }
  }
  for (auto& [name, members] : by_group) {
    MatchedGroup group;
    group.name = name;
    std::vector<Runs> runs;
    bool sequenced = true;
    for (auto& [rank, own] : members) {
      std::stable_sort(own.begin(), own.end(),
                       [](const auto* a, const auto* b) { return a->order < b->order; });
      for (const CollectiveRun* run : own) {
        sequenced = sequenced && run->sequence >= 0;
        group.size = std::max(group.size, run->group_size);
      }
      group.members.push_back(rank);
      runs.push_back(std::move(own));
    }
    if (members.size() < 2) {
      // Alone in its group here; nothing to compare with unless the others' files are missing.
      if (group.size != 1) out.unmatched += runs.front().size();
      continue;
    }
    if (group.size > 0 && static_cast<std::size_t>(group.size) < members.size()) {
      out.doubt = "group \"" + group.name + "\" has " + std::to_string(group.size) + " ranks but " +
                  std::to_string(members.size()) + " of the given traces name it; left out";
      for (const Runs& own : runs) out.unmatched += own.size();
      continue;
    }
    Merge(sequenced ? KeyBySequence(runs) : KeyByOrder(runs), group, out);
    if (!group.runs.front().empty()) out.groups.push_back(std::move(group));
  }
  return out;
}

}  // namespace hone::analyze
