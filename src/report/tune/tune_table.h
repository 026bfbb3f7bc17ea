// SPDX-License-Identifier: Apache-2.0
// The table of a search: optimization, factors, throughput, memory, loss, verdict. One form behind
// the terminal, Markdown and the page.
#pragma once

#include <string>
#include <vector>

#include "tune/result.h"

namespace hone::report {

struct TuneTableRow {
  const tune::Row* row = nullptr;  // null: the program as it is
  std::string name;
  std::string alone, total, rate, peak, loss, predicted, verdict;  // "-" where there is none
};

struct TuneTable {
  std::vector<TuneTableRow> adopted;  // the program as it is stands first
  std::vector<TuneTableRow> others;
};

// A line of the search for a batch size.
struct TuneBatchRow {
  std::string name, batch, rate, step, peak;
};
std::vector<TuneBatchRow> MakeBatchTable(const tune::TuneResult& result);

TuneTable MakeTuneTable(const tune::TuneResult& result);

}  // namespace hone::report
