// SPDX-License-Identifier: Apache-2.0
// The tables of sql_schema.h as CSV (RFC 4180), one file each. docs/user/export.md.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "export/exported.h"

namespace hone::exporter {

std::vector<std::string> CsvTables();

// A folder with a file for each table that has rows.
Result<std::unique_ptr<Writer>> CreateCsvFolder(const std::string& path);

// `table` is one of CsvTables; `out` outlives the writer.
std::unique_ptr<Writer> OpenCsvTable(const std::string& table, std::ostream& out);

}  // namespace hone::exporter
