// SPDX-License-Identifier: Apache-2.0
// The whole report as one JSON document. Schema: docs/user/json.md.
#pragma once

#include <ostream>
#include <string>

#include "report/report.h"
#include "report/table.h"

namespace hone::report {

struct JsonOptions {
  std::string table;  // name of the table that `shape` applies to; empty: none
  TableShape shape;
};

// The error is a bad column in options.shape; nothing was written then.
Status WriteJson(const Report& report, const JsonOptions& options, std::ostream& out);

}  // namespace hone::report
