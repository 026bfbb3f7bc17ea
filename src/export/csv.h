// SPDX-License-Identifier: Apache-2.0
// The rows of a trace as CSV (RFC 4180), one file a table. docs/user/export.md lists the columns.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "export/exported.h"

namespace hone::exporter {

std::span<const std::string_view> CsvTables();

// A folder with a file for each table that has rows.
Status MakeCsvFolder(const Exported& rank, const std::string& path);

// `table` is one of CsvTables.
Status WriteCsvTable(const Exported& rank, std::string_view table, std::ostream& out);

}  // namespace hone::exporter
