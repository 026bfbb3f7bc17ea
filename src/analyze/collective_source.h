// SPDX-License-Identifier: Apache-2.0
// What the trace says about each collective, from the best of its sources: metadata on the kernel,
// metadata of the operator that launched it, the annotation around the launch, the kernel's name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/collective_kind.h"
#include "analyze/grouping.h"
#include "trace/trace.h"

namespace hone::analyze {

struct CollectiveDescription {
  CollectiveKind kind = CollectiveKind::kUnknown;
  std::string dtype;  // "" unknown
  Known<double> message_bytes;
  std::string group;  // name of the process group, "" unknown
  std::int64_t group_size = -1;
  std::int64_t sequence = -1;
};

// Two passes over the host slices at construction; a description is made once for each distinct
// set of sources. The trace must outlive it.
class CollectiveSource {
 public:
  explicit CollectiveSource(const trace::Trace& trace);

  // Index into descriptions().
  std::uint32_t DescribeWork(trace::RowId work);
  std::uint32_t DescribeSlice(trace::RowId slice);

  // Annotations that are themselves the collective: those of back ends that run on the host.
  std::span<const trace::RowId> HostCollectives() const { return host_collectives_; }
  // A slice that launches a collective, whether or not its device work is in the file; kNoRow:
  // none.
  trace::RowId first_mark() const { return first_mark_; }
  std::span<const CollectiveDescription> descriptions() const { return descriptions_; }
  // "nccl", "gloo", …; "" when names do not tell.
  std::string BackendFromNames(bool on_device) const;

 private:
  std::uint32_t Describe(std::uint32_t collective, trace::RowId mark, StringId kernel);
  void FillFromMetadata(const trace::Collective& metadata, CollectiveDescription& out) const;
  void FillFromMark(trace::RowId mark, CollectiveDescription& out) const;
  void FillGroup(CollectiveDescription& out) const;

  const trace::Trace& trace_;
  // By host row, inherited from ancestors; empty when the trace has none.
  std::vector<std::uint32_t> metadata_;  // row of Trace::collectives
  std::vector<trace::RowId> marks_;      // nearest slice named after a collective
  std::vector<trace::RowId> host_collectives_;
  trace::RowId first_mark_ = trace::kNoRow;
  std::unordered_map<std::string_view, std::size_t> group_rows_;  // of Trace::process_groups
  GroupIndex mark_index_, index_;
  std::vector<CollectiveDescription> descriptions_;
};

}  // namespace hone::analyze
