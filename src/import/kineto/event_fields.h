// SPDX-License-Identifier: Apache-2.0
// Which field of RawEvent each JSON key fills.
#pragma once

#include <string_view>

#include "import/kineto/raw_event.h"

namespace hone::importer::kineto {

struct ArgKey {
  std::string_view key;
  void (*set)(RawEvent& event, std::string_view json);
  bool common = false;  // fills a member of EventFields, which every event clears
};

// For a key of "args"; nullptr for the keys that nothing reads. A few nanoseconds.
const ArgKey* FindArg(std::string_view key);

// For a key of the event itself other than "args".
void SetEventField(RawEvent& event, std::string_view key, std::string_view token);

}  // namespace hone::importer::kineto
