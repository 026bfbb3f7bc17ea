// SPDX-License-Identifier: Apache-2.0
#include "analyze/slice_groups.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::OpDetail;
using trace::RowId;
using trace::SliceKind;
using trace::Trace;

// Forward operators by the sequence number of the autograd node that they made.
class ForwardIndex {
 public:
  explicit ForwardIndex(const Trace& trace) {
    const auto& host = trace.host;
    for (RowId i = 0; i < host.size(); ++i) {
      if (host.kind[i] != SliceKind::kOp || host.link[i] < 0) continue;
      if (trace.op_details[host.detail[i]].fwd_thread > 0) continue;
      entries_.push_back({host.link[i], host.start_ns[i], ProcessOf(trace, i), i});
    }
    // A single forward thread writes its numbers in rising order: usually there is nothing to do.
    if (!std::is_sorted(entries_.begin(), entries_.end(), Before)) {
      std::sort(entries_.begin(), entries_.end(), Before);
    }
  }

  RowId Find(const Trace& trace, RowId backward) const {
    const Entry key{trace.host.link[backward], trace.host.start_ns[backward],
                    ProcessOf(trace, backward), kNoRow};
    const auto after = std::upper_bound(entries_.begin(), entries_.end(), key, Before);
    if (after == entries_.begin()) return kNoRow;
    const Entry& found = *(after - 1);
    return found.process == key.process && found.sequence == key.sequence ? found.row : kNoRow;
  }

 private:
  struct Entry {
    std::int64_t sequence;
    Nanos start_ns;
    RowId process;
    RowId row;
  };
  static bool Before(const Entry& a, const Entry& b) {
    return std::tie(a.process, a.sequence, a.start_ns, a.row) <
           std::tie(b.process, b.sequence, b.start_ns, b.row);
  }
  static RowId ProcessOf(const Trace& trace, RowId row) {
    return trace.threads[trace.host.thread[row]].process;
  }

  std::vector<Entry> entries_;
};

// What the row says by itself, without its ancestors.
StringId OwnGroup(const Trace& trace, const Lineage& lineage, GroupBy group_by, RowId row) {
  const OpDetail& detail = trace.op_details[trace.host.detail[row]];
  if (group_by == GroupBy::kStack) {
    if (detail.stack != StringId::kEmpty) return detail.stack;
    return lineage.python[row] == row ? trace.host.name[row] : StringId::kEmpty;
  }
  if (detail.module != StringId::kEmpty) return detail.module;
  return lineage.module[row] == row ? trace.host.name[row] : StringId::kEmpty;
}

Column<StringId> Inherit(const Trace& trace, const Lineage& lineage, GroupBy group_by) {
  const auto& host = trace.host;
  Column<StringId> groups;
  groups.resize(host.size(), StringId::kEmpty);
  bool any = false, backward = false;
  for (RowId i = 0; i < host.size(); ++i) {
    groups[i] = OwnGroup(trace, lineage, group_by, i);
    any |= groups[i] != StringId::kEmpty;
    backward |= trace.op_details[host.detail[i]].fwd_thread > 0;
    if (groups[i] == StringId::kEmpty && host.parent[i] != kNoRow) {
      groups[i] = groups[host.parent[i]];
    }
  }
  if (!any || !backward) return groups;

  // Threads are not sorted by time, so a forward operator may stand after its backward one: the
  // second pass reads the finished first.
  const ForwardIndex forward(trace);
  Column<StringId> linked;
  linked.resize(host.size(), StringId::kEmpty);
  for (RowId i = 0; i < host.size(); ++i) {
    linked[i] = OwnGroup(trace, lineage, group_by, i);
    if (linked[i] != StringId::kEmpty) continue;
    if (host.kind[i] == SliceKind::kOp && host.link[i] >= 0 &&
        trace.op_details[host.detail[i]].fwd_thread > 0) {
      const RowId source = forward.Find(trace, i);
      if (source != kNoRow) linked[i] = groups[source];
    }
    if (linked[i] == StringId::kEmpty && host.parent[i] != kNoRow) {
      linked[i] = linked[host.parent[i]];
    }
  }
  return linked;
}

}  // namespace

Known<Column<StringId>> GroupsOfSlices(const Trace& trace, const Lineage& lineage,
                                       GroupBy group_by) {
  using Groups = Known<Column<StringId>>;
  const auto& host = trace.host;
  Column<StringId> groups;
  if (group_by == GroupBy::kName) {
    groups.resize(host.size(), StringId::kEmpty);
    return groups;
  }
  if (group_by == GroupBy::kNameShape) {
    groups.resize(host.size(), StringId::kEmpty);
    for (RowId i = 0; i < host.size(); ++i) groups[i] = trace.op_details[host.detail[i]].dims;
  } else {
    groups = Inherit(trace, lineage, group_by);
  }
  const bool any =
      std::any_of(groups.begin(), groups.end(), [](StringId id) { return id != StringId::kEmpty; });
  if (any) return groups;
  switch (group_by) {
    case GroupBy::kNameShape:
      return Groups::Absent("the trace has no input shapes; record with record_shapes=True");
    case GroupBy::kStack:
      return Groups::Absent("the trace has no Python stacks; record with with_stack=True");
    default:
      return Groups::Absent(
          "the trace names no modules; record with with_stack=True or with_modules=True");
  }
}

}  // namespace hone::analyze
