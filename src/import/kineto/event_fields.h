// SPDX-License-Identifier: Apache-2.0
// Which field of RawEvent each JSON key fills.
#pragma once

#include <string_view>

#include "import/kineto/raw_event.h"

namespace hone::importer::kineto {

using ArgSetter = void (*)(RawEvent& event, std::string_view json);

// For a key of "args"; nullptr for the keys that nothing reads. A few nanoseconds.
ArgSetter FindArg(std::string_view key);

// For a key of the event itself other than "args".
void SetEventField(RawEvent& event, std::string_view key, std::string_view token);

}  // namespace hone::importer::kineto
