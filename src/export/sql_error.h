// SPDX-License-Identifier: Apache-2.0
// What SQLite says about a query, as one sentence for a person.
#pragma once

#include <string>
#include <string_view>

namespace hone::exporter {

// `sql` is the whole text, `start` where the statement begins. `message` and `offset` (bytes into
// the statement, -1 unknown) as SQLite gives them; `denied`: what the authorizer refused, empty:
// nothing.
std::string ExplainSqlError(std::string_view sql, std::size_t start, std::string_view message,
                            int offset, std::string_view denied);

}  // namespace hone::exporter
