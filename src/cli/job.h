// SPDX-License-Identifier: Apache-2.0
// From paths to a Report: finds the traces, loads and analyzes one after the other, compares ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "report/report.h"

namespace hone::cli {

struct JobOptions {
  std::vector<std::string> paths;  // files or directories
  analyze::GroupBy group_by = analyze::GroupBy::kName;
  std::int64_t rank = -1;  // the rank that leads; -1: the one others wait for, else the slowest
  bool tracelens = false, hta = false;
  bool stable = false;
  bool quiet = false;  // no progress
  bool diagnose = true;
  bool keep_rows = false;  // of every input, not of the leading one alone
};

struct JobResult {
  report::Report report;  // without inputs when nothing could be read
  int code = 0;           // kExitUnreadable when some input could not be read in full
};

// Says on console.err what could not be read, one sentence a file, and goes on with the rest. Rows
// are kept of the input that leads only unless keep_rows says otherwise, so at most two ranks' rows
// are in memory at a time. The error is about the command line: no such rank.
Result<JobResult> RunJob(const JobOptions& options, Console& console);

}  // namespace hone::cli
