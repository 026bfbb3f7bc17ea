// SPDX-License-Identifier: Apache-2.0
// Which operator call accounts for a kernel. Operators nest (linear > addmm, conv2d > convolution >
// cudnn_convolution), and every level has the same shapes: counting each would count the work
// twice.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyze/flops.h"
#include "trace/trace.h"

namespace hone::analyze {

// A call is an owner when its work has a model and no call of the same ModelKind with a model lies
// inside it. A kernel belongs to the nearest owner around the operator that launched it: its own
// operator, or the one whose implementation it is part of (the sort inside an embedding's
// backward). Linear in host slices; shapes are parsed once per distinct operator and arguments.
class ModelledCalls {
 public:
  explicit ModelledCalls(const trace::Trace& trace);

  struct Entry {  // one operator with one set of arguments
    StringId op = StringId::kEmpty;
    std::uint32_t detail = 0;
    ModelKind kind = ModelKind::kNone;
    bool modelled = false;
    Work work;
  };

  bool any_shapes() const { return any_shapes_; }
  // `op`: a row of Trace::host. kNoRow: no modelled operator around it.
  trace::RowId OwnerOf(trace::RowId op) const { return owner_[op]; }
  std::uint32_t EntryOf(trace::RowId owner) const { return entry_of_[owner]; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  // Chains of entries by row of Trace::op_details. Rows that differ only in strides, stack or
  // module share an entry.
  struct Link {
    std::uint32_t entry = 0, next = 0;
  };
  struct Key {
    StringId op, dims, types, concrete;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  std::uint32_t FindOrAdd(const trace::Trace& trace, StringId op, std::uint32_t detail,
                          ModelKind kind);

  bool any_shapes_ = false;
  std::vector<Entry> entries_{1};         // entry 0: none
  std::vector<Link> links_{1};            // link 0: the end
  std::vector<std::uint32_t> by_detail_;  // first link of each row of Trace::op_details
  std::unordered_map<Key, std::uint32_t, KeyHash> by_key_;
  std::vector<std::uint32_t> entry_of_;  // by host row
  std::vector<trace::RowId> owner_;      // by host row
};

}  // namespace hone::analyze
