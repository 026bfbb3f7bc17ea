// SPDX-License-Identifier: Apache-2.0
#include "import/cuda_words.h"

#include <iterator>

namespace hone::importer {
namespace {

using trace::CopyDirection;
using trace::MemoryKind;

const char* Name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kPageable: return "Pageable";
    case MemoryKind::kPinned: return "Pinned";
    case MemoryKind::kDevice: return "Device";
    case MemoryKind::kManaged: return "Managed";
    case MemoryKind::kArray: return "Array";
    case MemoryKind::kUnknown: break;
  }
  return "Unknown";
}

const char* Name(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::kHostToDevice: return "HtoD";
    case CopyDirection::kDeviceToHost: return "DtoH";
    case CopyDirection::kDeviceToDevice: return "DtoD";
    case CopyDirection::kPeerToPeer: return "PtoP";
    case CopyDirection::kHostToHost: return "HtoH";
    case CopyDirection::kUnknown: break;
  }
  return "Unknown";
}

}  // namespace

std::string CopyName(CopyDirection direction, MemoryKind source, MemoryKind target) {
  return std::string("Memcpy ") + Name(direction) + " (" + Name(source) + " -> " + Name(target) +
         ")";
}
std::string SetName(MemoryKind target) { return std::string("Memset (") + Name(target) + ")"; }

CopyDirection CuptiDirection(std::int64_t copy_kind) {
  // Arrays live on the device.
  constexpr CopyDirection kKinds[] = {
      CopyDirection::kUnknown,        CopyDirection::kHostToDevice,
      CopyDirection::kDeviceToHost,   CopyDirection::kHostToDevice,
      CopyDirection::kDeviceToHost,   CopyDirection::kDeviceToDevice,
      CopyDirection::kDeviceToDevice, CopyDirection::kDeviceToDevice,
      CopyDirection::kDeviceToDevice, CopyDirection::kHostToHost,
      CopyDirection::kPeerToPeer};
  return static_cast<std::uint64_t>(copy_kind) < std::size(kKinds) ? kKinds[copy_kind]
                                                                   : CopyDirection::kUnknown;
}

MemoryKind CuptiMemory(std::int64_t memory_kind) {
  constexpr MemoryKind kKinds[] = {
      MemoryKind::kUnknown, MemoryKind::kPageable, MemoryKind::kPinned, MemoryKind::kDevice,
      MemoryKind::kArray,   MemoryKind::kManaged,  MemoryKind::kDevice, MemoryKind::kManaged};
  return static_cast<std::uint64_t>(memory_kind) < std::size(kKinds) ? kKinds[memory_kind]
                                                                     : MemoryKind::kUnknown;
}

const char* CuptiSync(std::int64_t type) {
  constexpr const char* kTypes[] = {"Unknown Sync", "Event Sync", "Stream Wait Event",
                                    "Stream Sync", "Context Sync"};
  return static_cast<std::uint64_t>(type) < std::size(kTypes) ? kTypes[type] : kTypes[0];
}

}  // namespace hone::importer
