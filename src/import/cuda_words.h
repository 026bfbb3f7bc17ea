// SPDX-License-Identifier: Apache-2.0
// Words for what CUDA does, as the PyTorch profiler writes them, so that analyses know one set.
#pragma once

#include <cstdint>
#include <string>

#include "trace/trace.h"

namespace hone::importer {

// "Memcpy HtoD (Pinned -> Device)", "Memset (Device)".
std::string CopyName(trace::CopyDirection direction, trace::MemoryKind source,
                     trace::MemoryKind target);
std::string SetName(trace::MemoryKind target);

// From CUPTI's own numbers: CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind,
// CUpti_ActivitySynchronizationType ("Stream Sync", "Event Sync", …).
trace::CopyDirection CuptiDirection(std::int64_t copy_kind);
trace::MemoryKind CuptiMemory(std::int64_t memory_kind);
const char* CuptiSync(std::int64_t type);

}  // namespace hone::importer
