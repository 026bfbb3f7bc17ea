// SPDX-License-Identifier: Apache-2.0
#include "replay/path_parts.h"

#include <algorithm>
#include <unordered_map>

namespace hone::replay {
namespace {

using trace::Interval;
using trace::RowId;

// Words for time that no row of the trace stands for.
const char* WordsFor(PathKind kind) {
  switch (kind) {
    case PathKind::kInput: return "the loader's workers";
    case PathKind::kHost: return "code outside operators";
    case PathKind::kLaunch: return "from the call to the start on the device";
    case PathKind::kSync: return "from the end on the device to the next line of code";
    case PathKind::kDeviceOverhead: return "between queued kernels";
    case PathKind::kCompute:
    case PathKind::kCopy:
    case PathKind::kCommunication: return "work without a name";
  }
  return "";
}

bool IsDevice(TaskKind kind) {
  return kind == TaskKind::kKernel || kind == TaskKind::kCollective || kind == TaskKind::kCopy;
}

struct NamedSpan {
  Interval span;
  StringId name = StringId::kEmpty;
};

class Grouping {
 public:
  explicit Grouping(const Model& model) : model_(model), next_(model.graph().lanes.size(), 0) {
    FindTopOps();
  }

  std::vector<PathPart> Group(const CriticalPath& path) {
    for (const PathPiece& piece : path.pieces) {
      const Task& task = model_.graph().tasks[piece.task];
      if (piece.kind == PathKind::kHost && task.row == trace::kNoRow) {
        SplitByOps(task, piece.length_ns);
      } else {
        Add(piece.kind, NameOf(task, piece.kind), piece.length_ns);
      }
    }
    std::vector<PathPart> parts;
    parts.reserve(parts_.size());
    for (auto& [key, part] : parts_) parts.push_back(std::move(part));
    std::sort(parts.begin(), parts.end(), [](const PathPart& a, const PathPart& b) {
      if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
      return a.kind != b.kind ? a.kind < b.kind : a.name < b.name;
    });
    return parts;
  }

 private:
  // Outermost operators of each thread that has a lane, in order; they do not overlap.
  void FindTopOps() {
    const trace::HostSlices& host = model_.trace().host;
    top_ops_.resize(model_.graph().lanes.size());
    for (RowId i = 0; i < host.size(); ++i) {
      if (model_.lineage().top_op[i] != i || !model_.InWindow(i)) continue;
      top_ops_[model_.LaneOf(i)].push_back({{host.start_ns[i], host.end_ns(i)}, host.name[i]});
    }
  }

  StringId NameOf(const Task& task, PathKind kind) const {
    const bool latency =
        IsDevice(task.kind) && (kind == PathKind::kLaunch || kind == PathKind::kDeviceOverhead);
    if (task.row == trace::kNoRow || latency) return StringId::kEmpty;
    return IsDevice(task.kind) ? model_.trace().device.name[task.row]
                               : model_.trace().host.name[task.row];
  }

  // The path visits a lane's tasks in order of time, so each lane needs one cursor.
  void SplitByOps(const Task& task, Nanos length_ns) {
    const Nanos end_ns = task.start_ns + length_ns;
    const std::vector<NamedSpan>& ops = top_ops_[task.lane];
    std::size_t& at = next_[task.lane];
    while (at < ops.size() && ops[at].span.end_ns <= task.start_ns) ++at;
    // Between two operators is a stretch of its own.
    Nanos left = length_ns, now = task.start_ns;
    std::uint64_t between = 0;
    for (std::size_t i = at; i < ops.size() && ops[i].span.begin_ns < end_ns; ++i) {
      const Nanos inside =
          std::min(end_ns, ops[i].span.end_ns) - std::max(task.start_ns, ops[i].span.begin_ns);
      if (inside <= 0) continue;
      Add(PathKind::kHost, ops[i].name, inside);
      left -= inside;
      if (ops[i].span.begin_ns > now) ++between;
      now = std::max(now, ops[i].span.end_ns);
    }
    if (now < end_ns) ++between;
    if (left > 0) Add(PathKind::kHost, StringId::kEmpty, left, between);
  }

  void Add(PathKind kind, StringId name, Nanos length_ns, std::uint64_t stretches = 1) {
    const std::uint64_t key = static_cast<std::uint64_t>(kind) << 32 |
                              static_cast<std::uint64_t>(static_cast<std::uint32_t>(name));
    PathPart& part = parts_[key];
    if (part.count == 0) {
      part.kind = kind;
      part.name = name == StringId::kEmpty ? WordsFor(kind) : model_.trace().Name(name);
    }
    part.total_ns += length_ns;
    part.count += stretches;
  }

  const Model& model_;
  std::vector<std::vector<NamedSpan>> top_ops_;  // by lane
  std::vector<std::size_t> next_;                // by lane
  std::unordered_map<std::uint64_t, PathPart> parts_;
};

}  // namespace

std::vector<PathPart> GroupPath(const Model& model, const CriticalPath& path) {
  return Grouping(model).Group(path);
}

}  // namespace hone::replay
