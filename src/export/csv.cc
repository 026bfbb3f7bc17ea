// SPDX-License-Identifier: Apache-2.0
#include "export/csv.h"

namespace hone::exporter {

std::vector<std::string> CsvTables() { return {"slice"}; }

Result<std::unique_ptr<Writer>> CreateCsvFolder(const std::string& path) {
  return Error(path + ": csv is not written yet; use --to chrome");
}

std::unique_ptr<Writer> OpenCsvTable(const std::string& /*table*/, std::ostream& /*out*/) {
  return nullptr;
}

}  // namespace hone::exporter
