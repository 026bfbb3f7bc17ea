// SPDX-License-Identifier: Apache-2.0
// RecordedSpan: the stretch of time that is analyzed. A recording may have several windows
// (--every; or one before the first step and one after it), and may pause while another tool holds
// the device; figures over such a pause would be wrong. The latest window counts that the end of
// the process did not cut short and that was not closed for want of a step; without one, the
// latest. Of its stretches the one with most operators and calls, since the first also holds the
// start of the program; a pause, whose operators have no device work, only where nearly everything
// ran in it. The others are said to be there.
#pragma once

#include <vector>

#include "import/hone/process_file.h"
#include "trace/interval.h"
#include "trace/trace.h"

namespace hone::importer::hone_file {

class RecordedSpan {
 public:
  // From the marks of the process that leads. Without marks of windows: everything.
  explicit RecordedSpan(const ProcessFile& leader);

  // Whether what begins then belongs to it. Device work of its last launches may begin after a
  // window's end: it goes on until the next stretch begins.
  bool Contains(Nanos time_ns) const { return time_ns >= from_ns_ && time_ns < until_ns_; }

  // Pauses and stretches that are left out, as losses.
  void Report(LossLog& losses) const;

 private:
  struct Stretch {
    trace::Interval span;
    std::uint32_t window = 0;
    bool pause = false;
    std::string text = {};  // of a pause: who had the device
    std::uint64_t rows = 0;
  };
  void ReadMarks(const ProcessFile& leader);
  void CountRows(const ProcessFile& leader);
  std::size_t Choose() const;

  std::vector<Stretch> stretches_;  // by time
  std::uint32_t whole_window_ = 0;  // the latest that was closed in order; 0: none
  std::size_t chosen_ = 0;
  Nanos from_ns_ = INT64_MIN, until_ns_ = INT64_MAX;
};

}  // namespace hone::importer::hone_file
