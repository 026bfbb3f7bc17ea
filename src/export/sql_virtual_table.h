// SPDX-License-Identifier: Apache-2.0
// SqlRows as a virtual table of SQLite: rows are read in place, nothing is copied.
#pragma once

#include <sqlite3.h>

#include "export/sql_rows.h"

namespace hone::exporter {

// Makes the tables in `database`. `tables` has one entry a table of the schema, in its order, and
// outlives the connection. Returns SQLITE_OK or SQLite's code.
int CreateVirtualTables(sqlite3* database, std::vector<SqlRows>& tables);

}  // namespace hone::exporter
