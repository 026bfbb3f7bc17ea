// SPDX-License-Identifier: Apache-2.0
// What SQLite says about a query, as one sentence for a person.
#pragma once

#include <string>
#include <string_view>

namespace hone::exporter {

// `message` and `offset` (bytes into sql, -1 unknown) as SQLite gives them; `denied`: what the
// authorizer refused, empty: nothing.
std::string ExplainSqlError(std::string_view sql, std::string_view message, int offset,
                            std::string_view denied);

}  // namespace hone::exporter
