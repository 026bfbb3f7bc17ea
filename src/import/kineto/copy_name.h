// SPDX-License-Identifier: Apache-2.0
// What the name of a copy says: "Memcpy HtoD (Pageable -> Device)".
#pragma once

#include <string_view>

#include "trace/trace.h"

namespace hone::importer::kineto {

struct CopyName {
  trace::CopyDirection direction = trace::CopyDirection::kUnknown;
  trace::MemoryKind source = trace::MemoryKind::kUnknown, target = trace::MemoryKind::kUnknown;
};

CopyName ParseCopyName(std::string_view name);

}  // namespace hone::importer::kineto
