// SPDX-License-Identifier: Apache-2.0
#include "import/kineto/copy_name.h"

namespace hone::importer::kineto {
namespace {

using trace::CopyDirection;
using trace::MemoryKind;

// "Host" (ROCm) does not tell pinned from pageable.
MemoryKind KindOf(std::string_view word) {
  if (word.find("Pageable") != std::string_view::npos) return MemoryKind::kPageable;
  if (word.find("Pinned") != std::string_view::npos) return MemoryKind::kPinned;
  if (word.find("Device") != std::string_view::npos) return MemoryKind::kDevice;
  if (word.find("Managed") != std::string_view::npos) return MemoryKind::kManaged;
  if (word.find("Array") != std::string_view::npos) return MemoryKind::kArray;
  return MemoryKind::kUnknown;
}

CopyDirection DirectionOf(std::string_view name) {
  struct Entry {
    std::string_view text;
    CopyDirection direction;
  };
  static constexpr Entry kEntries[] = {
      {"HtoD", CopyDirection::kHostToDevice},
      {"HtoA", CopyDirection::kHostToDevice},
      {"DtoH", CopyDirection::kDeviceToHost},
      {"AtoH", CopyDirection::kDeviceToHost},
      {"DtoD", CopyDirection::kDeviceToDevice},
      {"AtoD", CopyDirection::kDeviceToDevice},
      {"DtoA", CopyDirection::kDeviceToDevice},
      {"AtoA", CopyDirection::kDeviceToDevice},
      {"PtoP", CopyDirection::kPeerToPeer},
      {"HtoH", CopyDirection::kHostToHost},
      {"HostToDevice", CopyDirection::kHostToDevice},
      {"DeviceToHost", CopyDirection::kDeviceToHost},
      {"DeviceToDevice", CopyDirection::kDeviceToDevice},
      // rocprofiler: "MEMORY_COPY_HOST_TO_DEVICE"
      {"HOST_TO_DEVICE", CopyDirection::kHostToDevice},
      {"DEVICE_TO_HOST", CopyDirection::kDeviceToHost},
      {"DEVICE_TO_DEVICE", CopyDirection::kDeviceToDevice},
      {"HOST_TO_HOST", CopyDirection::kHostToHost},
  };
  for (const Entry& entry : kEntries) {
    if (name.find(entry.text) != std::string_view::npos) return entry.direction;
  }
  return CopyDirection::kUnknown;
}

// Intel's Level Zero names both sides by a letter: M is the host's plain memory, H is host memory
// that devices reach (pinned), S moves between the two by itself, D lies on the device. Kinds of
// sides that are not one of these stay unknown.
MemoryKind KindOf(char side) {
  switch (side) {
    case 'M': return MemoryKind::kPageable;
    case 'H': return MemoryKind::kPinned;
    case 'S': return MemoryKind::kManaged;
    case 'D': return MemoryKind::kDevice;
    default: return MemoryKind::kUnknown;
  }
}

// "zeCommandListAppendMemoryCopy(M2D)", "…MemoryCopyRegion(D2H)[pages]"; false for other names.
bool ParseSides(std::string_view name, CopyName& copy) {
  for (std::size_t open = name.find('('); open != std::string_view::npos;
       open = name.find('(', open + 1)) {
    if (open + 4 >= name.size() || name[open + 2] != '2' || name[open + 4] != ')') continue;
    copy.source = KindOf(name[open + 1]);
    copy.target = KindOf(name[open + 3]);
    if (name.substr(open + 1, 3) == "P2P") copy.direction = CopyDirection::kPeerToPeer;
    if (copy.source == MemoryKind::kUnknown || copy.target == MemoryKind::kUnknown) return true;
    const bool from_device = copy.source == MemoryKind::kDevice;
    const bool to_device = copy.target == MemoryKind::kDevice;
    copy.direction = from_device
                         ? to_device ? CopyDirection::kDeviceToDevice : CopyDirection::kDeviceToHost
                     : to_device ? CopyDirection::kHostToDevice
                                 : CopyDirection::kHostToHost;
    return true;
  }
  return false;
}

}  // namespace

CopyName ParseCopyName(std::string_view name) {
  CopyName copy;
  if (ParseSides(name, copy)) return copy;
  copy.direction = DirectionOf(name);
  const std::size_t open = name.find('(');
  const std::size_t arrow = name.find("->");
  if (arrow != std::string_view::npos && open != std::string_view::npos && open < arrow) {
    copy.source = KindOf(name.substr(open, arrow - open));
    copy.target = KindOf(name.substr(arrow));
  } else if (open != std::string_view::npos) {
    copy.target = KindOf(name.substr(open));  // "Memset (Device)"
  }
  return copy;
}

}  // namespace hone::importer::kineto
