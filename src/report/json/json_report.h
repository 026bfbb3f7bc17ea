// SPDX-License-Identifier: Apache-2.0
// The whole report as one JSON document. Schema: docs/user/json.md.
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "base/json_writer.h"
#include "report/report.h"
#include "report/table.h"

namespace hone::report {

struct JsonOptions {
  std::string table;  // name of the table that `shape` applies to; empty: none
  TableShape shape;
  JsonWriter::Escape escape = JsonWriter::Escape::kJson;
  std::function<void(JsonWriter&)> more = nullptr;  // writes further keys at the document's end
};

// The error is a bad column in options.shape; nothing was written then.
Status WriteJson(const Report& report, const JsonOptions& options, std::ostream& out);

}  // namespace hone::report
