// SPDX-License-Identifier: Apache-2.0
// What the writers of other tools' formats are given, and what they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "analyze/facts.h"
#include "base/result.h"
#include "trace/trace.h"

namespace hone::exporter {  // the folder is export/; `export` is a word of C++

// One rank: the rows of its trace and what was found out about them. Writers read it row by row and
// keep nothing that grows with the rows beside an index or two.
struct Exported {
  const trace::Trace& trace;
  const analyze::Facts& facts;
  std::size_t index = 0;       // of this rank among those that share the output
  bool several_ranks = false;  // names say which rank they are of
  // Rows written so far, and rows in all. May be empty; cheap enough to call every thousand rows.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  // What the format cannot hold as it was recorded, as a clause. May be empty.
  std::function<void(const std::string& clause)> note;
};

// A file that several ranks share. Ranks come one after the other; the rows of one are gone when
// the next comes.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual Status Add(const Exported& rank) = 0;
  virtual Status Finish() = 0;  // once, after the last rank
};

}  // namespace hone::exporter
