// SPDX-License-Identifier: Apache-2.0
#include "import/nsys/vocabulary.h"

#include <string_view>

namespace hone::importer::nsys {
namespace {

using trace::CopyDirection;
using trace::MemoryKind;

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "CUDA_MEMCPY_KIND_UVM_HTOD": the last four letters name both sides; an array lives on the device.
CopyDirection DirectionOf(std::string_view symbol) {
  if (symbol.size() < 4) return CopyDirection::kUnknown;
  const std::string_view sides = symbol.substr(symbol.size() - 4);
  if (sides.substr(1, 2) != "TO") return CopyDirection::kUnknown;
  const char from = sides[0] == 'A' ? 'D' : sides[0];
  const char to = sides[3] == 'A' ? 'D' : sides[3];
  if (from == 'H' && to == 'D') return CopyDirection::kHostToDevice;
  if (from == 'D' && to == 'H') return CopyDirection::kDeviceToHost;
  if (from == 'D' && to == 'D') return CopyDirection::kDeviceToDevice;
  if (from == 'P' && to == 'P') return CopyDirection::kPeerToPeer;
  if (from == 'H' && to == 'H') return CopyDirection::kHostToHost;
  return CopyDirection::kUnknown;
}

MemoryKind MemoryOf(std::string_view symbol) {
  if (Contains(symbol, "PAGEABLE")) return MemoryKind::kPageable;
  if (Contains(symbol, "PINNED")) return MemoryKind::kPinned;
  if (Contains(symbol, "MANAGED")) return MemoryKind::kManaged;
  if (Contains(symbol, "ARRAY")) return MemoryKind::kArray;
  if (Contains(symbol, "DEVICE")) return MemoryKind::kDevice;
  return MemoryKind::kUnknown;
}

const char* SyncOf(std::string_view symbol) {
  if (Contains(symbol, "STREAM_WAIT_EVENT")) return "Stream Wait Event";
  if (Contains(symbol, "EVENT_SYNC")) return "Event Sync";
  if (Contains(symbol, "STREAM_SYNC")) return "Stream Sync";
  if (Contains(symbol, "CONTEXT_SYNC")) return "Context Sync";
  return "Unknown Sync";
}

constexpr const char* kCopyKinds[] = {"",     "HTOD", "DTOH", "HTOA", "ATOH", "ATOA", "ATOD",
                                      "DTOA", "DTOD", "HTOH", "PTOP", "HTOD", "DTOH", "DTOD"};
constexpr const char* kMemoryKinds[] = {"PAGEABLE", "PINNED", "DEVICE", "ARRAY",
                                        "MANAGED",  "DEVICE", "MANAGED"};
constexpr const char* kSyncTypes[] = {"", "EVENT_SYNC", "STREAM_WAIT_EVENT", "STREAM_SYNC",
                                      "CONTEXT_SYNC"};

}  // namespace

Vocabulary::Vocabulary() {
  syncs_.fill("Unknown Sync");
  std::size_t i = 0;
  for (const char* symbol : kCopyKinds) directions_[i++] = DirectionOf(symbol);
  i = 0;
  for (const char* symbol : kMemoryKinds) memories_[i++] = MemoryOf(symbol);
  i = 0;
  for (const char* symbol : kSyncTypes) syncs_[i++] = SyncOf(symbol);
}

void Vocabulary::Load(Database& database) {
  const auto each = [&](const char* table, auto&& keep) {
    database.Scan(table, {"id", "name", "label"}, [&](const Row& row) {
      const std::int64_t id = row.Int(0, -1);
      if (id >= 0 && id < static_cast<std::int64_t>(kValues)) {
        keep(static_cast<std::size_t>(id), row);
      }
    });
  };
  each("ENUM_CUDA_MEMCPY_OPER", [&](std::size_t id, const Row& row) {
    if (row.Has(1)) directions_[id] = DirectionOf(row.Text(1));
  });
  each("ENUM_CUDA_MEM_KIND", [&](std::size_t id, const Row& row) {
    if (row.Has(1)) memories_[id] = MemoryOf(row.Text(1));
  });
  each("ENUM_CUPTI_SYNC_TYPE", [&](std::size_t id, const Row& row) {
    if (row.Has(1)) syncs_[id] = SyncOf(row.Text(1));
  });
  each("ENUM_CUPTI_OVERHEAD_TYPE",
       [&](std::size_t id, const Row& row) { overheads_[id] = row.Text(2); });
}

CopyDirection Vocabulary::Direction(std::int64_t kind) const {
  return static_cast<std::uint64_t>(kind) < kValues ? directions_[static_cast<std::size_t>(kind)]
                                                    : CopyDirection::kUnknown;
}
MemoryKind Vocabulary::Memory(std::int64_t kind) const {
  return static_cast<std::uint64_t>(kind) < kValues ? memories_[static_cast<std::size_t>(kind)]
                                                    : MemoryKind::kUnknown;
}
const char* Vocabulary::Sync(std::int64_t type) const {
  return static_cast<std::uint64_t>(type) < kValues ? syncs_[static_cast<std::size_t>(type)]
                                                    : "Unknown Sync";
}
std::string Vocabulary::Overhead(std::int64_t type) const {
  return static_cast<std::uint64_t>(type) < kValues ? overheads_[static_cast<std::size_t>(type)]
                                                    : std::string();
}

}  // namespace hone::importer::nsys
