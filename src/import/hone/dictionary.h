// SPDX-License-Identifier: Apache-2.0
// Dictionary: what rows of one file name by number (strings, frames, arguments), as rows and
// strings of the Trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/hone/process_file.h"
#include "trace/builder.h"

namespace hone::importer::hone_file {

// Values by id. Ids of files count up from 1, so an array holds them; a file that says otherwise
// costs no more memory than its rows.
template <typename T>
class IdTable {
 public:
  void Set(std::int64_t id, T value) {
    ++count_;
    if (id >= 0 && static_cast<std::uint64_t>(id) < 4 * count_ + 1024) {
      if (static_cast<std::size_t>(id) >= dense_.size())
        dense_.resize(static_cast<std::size_t>(id) + 1);
      dense_[static_cast<std::size_t>(id)] = value;
    } else {
      sparse_.insert_or_assign(id, value);
    }
  }
  T Get(std::int64_t id) const {
    if (static_cast<std::uint64_t>(id) < dense_.size()) {
      const T& value = dense_[static_cast<std::size_t>(id)];
      if (!(value == T{}) || sparse_.empty()) return value;
    }
    const auto found = sparse_.find(id);
    return found == sparse_.end() ? T{} : found->second;
  }
  bool empty() const { return count_ == 0; }

 private:
  std::uint64_t count_ = 0;
  std::vector<T> dense_;
  std::unordered_map<std::int64_t, T> sparse_;
};

struct Arguments {
  StringId dims = StringId::kEmpty, types = StringId::kEmpty, concrete = StringId::kEmpty;
  friend bool operator==(const Arguments&, const Arguments&) = default;
};

class Dictionary {
 public:
  // Reads the tables that others refer to. Frames become rows of the trace.
  void Read(const ProcessFile& file, trace::Builder& builder);

  StringId Name(std::int64_t id) const { return strings_.Get(id); }
  // As compilers mangle them, made readable; each once.
  StringId KernelName(std::int64_t id, trace::Builder& builder);
  // Row of Trace::stack_frames; 0: none.
  std::uint32_t Frame(std::int64_t id) const { return frames_.Get(id); }
  // The stack of a row of Trace::stack_frames as text, innermost first: "train.py(46): main;…".
  StringId StackText(std::uint32_t frame, trace::Builder& builder);
  // The modules whose forward pass a row of Trace::stack_frames stands in, outermost first, each
  // with the line that called it: "Net > Block (net.py:14)". Empty outside of any.
  StringId ModuleText(std::uint32_t frame, trace::Builder& builder);
  Arguments ArgumentsOf(std::int64_t id, trace::Builder& builder);

 private:
  struct Code {
    StringId file = StringId::kEmpty, function = StringId::kEmpty;
    std::int64_t first_line = 0;
    friend bool operator==(const Code&, const Code&) = default;
  };
  void TakeStrings(const wire::Chunk& chunk, trace::Builder& builder);
  void TakeCode(const wire::Chunk& chunk, const ProcessFile& file, trace::Builder& builder);
  void TakeFrames(const wire::Chunk& chunk, trace::Builder& builder);
  void TakeArguments(const wire::Chunk& chunk, trace::Builder& builder);

  IdTable<StringId> strings_, kernels_;
  IdTable<Code> code_;
  IdTable<std::uint32_t> frames_;
  IdTable<StringId> stacks_;       // by row of Trace::stack_frames
  std::vector<StringId> modules_;  // by row of Trace::stack_frames, as far as asked for
  IdTable<Arguments> arguments_;
};

}  // namespace hone::importer::hone_file
