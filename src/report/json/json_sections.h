// SPDX-License-Identifier: Apache-2.0
// The sections of the JSON document, each the value of its key.
#pragma once

#include "base/json_writer.h"
#include "report/json/json_report.h"
#include "report/report.h"
#include "report/table.h"

namespace hone::report {

// {"absent": "reason"}
void WriteAbsent(JsonWriter& json, std::string_view reason);
// The number, or why there is none.
void WriteKnown(JsonWriter& json, std::string_view key, const Known<double>& value);
void WriteKnownMillis(JsonWriter& json, std::string_view key, const Known<Nanos>& value);

// A list of row objects, keys as in the table's columns; null for unknown cells.
void WriteRows(JsonWriter& json, const Table& table);

void WriteTraceSection(JsonWriter& json, const Report& report, const Input& input);
void WriteTrustSection(JsonWriter& json, const Report& report, const Input& input);
void WriteTimelineSection(JsonWriter& json, const Input& input);
void WriteMemorySection(JsonWriter& json, const Input& input, const Known<Table>& ops,
                        const Known<Table>& lines);
void WriteLoaderSection(JsonWriter& json, const Input& input);
void WriteLaunchesSection(JsonWriter& json, const Input& input);
void WriteKernelSizesSection(JsonWriter& json, const Input& input);
void WriteSkew(JsonWriter& json, const Known<analyze::SkewFacts>& skew);

}  // namespace hone::report
