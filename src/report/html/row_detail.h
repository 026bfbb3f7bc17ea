// SPDX-License-Identifier: Apache-2.0
// What the page says about a row beside its name: shapes, launch geometry, bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "report/html/page_strings.h"

namespace hone::report {

// Each distinct text is made once. Both references must outlive it.
class RowDetails {
 public:
  RowDetails(const trace::Trace& trace, PageStrings& strings);

  // Numbers of strings; 0: nothing to say.
  std::uint32_t OfHost(trace::RowId row);    // "[[64, 3, 224, 224]]"
  std::uint32_t OfDevice(trace::RowId row);  // "grid 128, block 256 · 32 registers a thread"

 private:
  std::string LaunchText(const trace::LaunchConfig& launch) const;
  std::string CollectiveText(const trace::Collective& collective) const;
  std::string CopyText(trace::RowId row) const;

  const trace::Trace& trace_;
  PageStrings& strings_;
  std::vector<std::uint32_t> launch_, collective_;  // by row of the trace's tables
};

}  // namespace hone::report
