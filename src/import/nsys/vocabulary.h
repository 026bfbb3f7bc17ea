// SPDX-License-Identifier: Apache-2.0
// Vocabulary: what the numbers in copyKind, srcKind, syncType and overheadType mean. The file's own
// ENUM_ tables decide; values of Nsight Systems 2026.2 stand in where a file has none.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "import/nsys/database.h"
#include "trace/trace.h"

namespace hone::importer::nsys {

class Vocabulary {
 public:
  Vocabulary();
  void Load(Database& database);

  trace::CopyDirection Direction(std::int64_t copy_kind) const;
  trace::MemoryKind Memory(std::int64_t memory_kind) const;
  // "Stream Sync", "Event Sync", "Stream Wait Event", "Context Sync": the names of the PyTorch
  // profiler, so that analyses know one set.
  const char* Sync(std::int64_t sync_type) const;
  // "Buffer Flush"; empty when unknown.
  std::string Overhead(std::int64_t overhead_type) const;

 private:
  static constexpr std::size_t kValues = 64;  // more than any of these has
  std::array<trace::CopyDirection, kValues> directions_{};
  std::array<trace::MemoryKind, kValues> memories_{};
  std::array<const char*, kValues> syncs_{};
  std::array<std::string, kValues> overheads_;
};

}  // namespace hone::importer::nsys
