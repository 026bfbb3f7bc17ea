// SPDX-License-Identifier: Apache-2.0
// What the doctor says, as values of the JSON document.
#pragma once

#include "base/json_writer.h"
#include "report/report.h"
#include "report/table.h"

namespace hone::report {

// {"low": 26.1, "likely": 29.0, "high": 33.2}, in milliseconds.
void WritePrediction(JsonWriter& json, const replay::Prediction& prediction);
void WriteKnownPrediction(JsonWriter& json, std::string_view key,
                          const Known<replay::Prediction>& prediction);

// `rows`: the table findings, which says which and in what order.
void WriteFindingsSection(JsonWriter& json, const Known<doctor::Diagnosis>& diagnosis,
                          const Known<Table>& rows);
void WriteNotCheckedSection(JsonWriter& json, const Known<doctor::Diagnosis>& diagnosis);
void WriteReplaySection(JsonWriter& json, const Known<doctor::Diagnosis>& diagnosis);
// `parts`: the table critical-path.
void WriteCriticalPathSection(JsonWriter& json, const Known<doctor::Diagnosis>& diagnosis,
                              const Known<Table>& parts);

}  // namespace hone::report
