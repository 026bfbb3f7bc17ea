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
  };
  for (const Entry& entry : kEntries) {
    if (name.find(entry.text) != std::string_view::npos) return entry.direction;
  }
  return CopyDirection::kUnknown;
}

}  // namespace

CopyName ParseCopyName(std::string_view name) {
  CopyName copy;
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
