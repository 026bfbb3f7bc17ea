// SPDX-License-Identifier: Apache-2.0
// The prompt of hone sql: lines with editing, history and completion.
#pragma once

#include "cli/console.h"
#include "cli/sql_session.h"

namespace hone::cli {

// Reads until .quit or the end of stdin, which is a terminal as stdout is. Ctrl-C stops the query
// that runs, or empties the line. Errors go to console.err.
void RunSqlPrompt(SqlSession& session, Console& console);

}  // namespace hone::cli
