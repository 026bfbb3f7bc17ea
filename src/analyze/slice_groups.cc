// SPDX-License-Identifier: Apache-2.0
#include "analyze/slice_groups.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "analyze/forward_index.h"
#include "trace/record_again.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::OpDetail;
using trace::RowId;
using trace::Trace;

// Frames of PyTorch itself: every convolution of every model would share one line of conv.py. The
// recorder cuts known prefixes off paths; where it could not, the package folder stands before.
bool IsFrameworkFrame(std::string_view name) {
  return name.starts_with("torch/") || name.starts_with("triton/") ||
         name.find("-packages/torch/") != std::string_view::npos ||
         name.find("-packages/triton/") != std::string_view::npos;
}

// What rows say by themselves, without their ancestors.
class OwnGroup {
 public:
  OwnGroup(const Trace& trace, const Lineage& lineage, GroupBy group_by)
      : trace_(trace), lineage_(lineage), group_by_(group_by), frames_(trace.strings.size(), 0) {}

  StringId operator[](RowId row) {
    const OpDetail& detail = trace_.op_details[trace_.host.detail[row]];
    if (group_by_ == GroupBy::kStack) {
      if (detail.stack != StringId::kEmpty) return detail.stack;
      return lineage_.python[row] == row && IsUserFrame(trace_.host.name[row])
                 ? trace_.host.name[row]
                 : StringId::kEmpty;
    }
    if (detail.module != StringId::kEmpty) return detail.module;
    return lineage_.module[row] == row ? trace_.host.name[row] : StringId::kEmpty;
  }

 private:
  bool IsUserFrame(StringId name) {
    enum : std::uint8_t { kUnseen, kUser, kFramework };
    std::uint8_t& frame = frames_[static_cast<std::size_t>(name)];
    if (frame == kUnseen) frame = IsFrameworkFrame(trace_.Name(name)) ? kFramework : kUser;
    return frame == kUser;
  }

  const Trace& trace_;
  const Lineage& lineage_;
  GroupBy group_by_;
  std::vector<std::uint8_t> frames_;  // by name
};

// One forward pass: own, else what `linked` knows, else the parent's.
template <typename Linked>
Column<StringId> Inherit(const Trace& trace, OwnGroup& own, const Linked& linked) {
  const auto& host = trace.host;
  Column<StringId> groups;
  groups.resize(host.size(), StringId::kEmpty);
  for (RowId i = 0; i < host.size(); ++i) {
    groups[i] = own[i];
    if (groups[i] == StringId::kEmpty) groups[i] = linked(i);
    if (groups[i] == StringId::kEmpty && host.parent[i] != kNoRow) {
      groups[i] = groups[host.parent[i]];
    }
  }
  return groups;
}

Column<StringId> StacksOrModules(const Trace& trace, const Lineage& lineage, GroupBy group_by) {
  OwnGroup own(trace, lineage, group_by);
  Column<StringId> groups = Inherit(trace, own, [](RowId) { return StringId::kEmpty; });
  // Where only PyTorch's own frames stand around a row, the innermost of them is better than none.
  const auto fill_framework_frames = [&] {
    if (group_by != GroupBy::kStack) return;
    for (RowId i = 0; i < trace.host.size(); ++i) {
      const RowId python = lineage.python[i];
      if (groups[i] == StringId::kEmpty && python != kNoRow) groups[i] = trace.host.name[python];
    }
  };
  fill_framework_frames();
  const auto is_backward = [&](RowId i) { return IsBackward(trace, i); };
  bool backward = false;
  for (RowId i = 0; i < trace.host.size() && !backward; ++i) backward = is_backward(i);
  if (!backward) return groups;
  // Threads are not sorted by time, so a forward operator may stand after its backward one: the
  // second pass reads the finished first.
  const ForwardIndex forward(trace);
  groups = Inherit(trace, own, [&](RowId i) {
    const RowId source = is_backward(i) ? forward.Find(trace, i) : kNoRow;
    return source == kNoRow ? StringId::kEmpty : groups[source];
  });
  fill_framework_frames();
  return groups;
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
    groups = StacksOrModules(trace, lineage, group_by);
  }
  const bool any =
      std::any_of(groups.begin(), groups.end(), [](StringId id) { return id != StringId::kEmpty; });
  if (any) return groups;
  switch (group_by) {
    case GroupBy::kNameShape:
      return Groups::Absent(std::string("the trace has no input shapes; ") +
                            trace::RecordAgain(trace.info, trace::Lacking::kShapes));
    case GroupBy::kStack:
      return Groups::Absent(std::string("the trace has no Python stacks; ") +
                            trace::RecordAgain(trace.info, trace::Lacking::kStacks));
    default:
      return Groups::Absent(std::string("the trace names no modules; ") +
                            trace::RecordAgain(trace.info, trace::Lacking::kStacks));
  }
}

}  // namespace hone::analyze
