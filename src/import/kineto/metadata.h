// SPDX-License-Identifier: Apache-2.0
// File-level fields: devices, versions, settings, distributed layout.
#pragma once

#include <string_view>

#include "trace/builder.h"

namespace hone::importer::kineto {

// Unknown keys are ignored: users may add their own. A known key with an unreadable value is
// counted.
void ReadMetadata(std::string_view key, std::string_view json, trace::Builder& builder);

}  // namespace hone::importer::kineto
