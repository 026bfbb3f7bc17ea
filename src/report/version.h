// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace hone::report {

const char* Version();  // "0.1.0"

// Of the JSON document; docs/user/json.md says what raises it.
inline constexpr int kSchemaVersion = 1;

}  // namespace hone::report
