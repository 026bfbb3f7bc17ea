// SPDX-License-Identifier: Apache-2.0
// SqlRows as a virtual table of SQLite: rows are read in place, nothing is copied.
#pragma once

#include <sqlite3.h>

#include <vector>

#include "export/sql_rows.h"

namespace hone::exporter {

struct SqlTables {
  std::vector<SqlRows> rows;  // one entry a table of the schema, in its order
  // A table tells SQLite its columns, now or when SQLite reads its schema again; an authorizer sees
  // that as writing.
  bool declaring = false;
};

// Makes the tables in `database`. `tables` outlives the connection. Returns SQLITE_OK or SQLite's
// code.
int CreateVirtualTables(sqlite3* database, SqlTables& tables);

}  // namespace hone::exporter
