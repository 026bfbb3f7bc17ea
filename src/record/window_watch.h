// SPDX-License-Identifier: Apache-2.0
// WindowWatch: reads from the control page, look by look, how far the recording is and when a
// window has closed for the whole job.
#pragma once

#include <chrono>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "record/control.h"

namespace hone::record {

// How far the recording is: of the process that is furthest behind among those that count steps.
struct RecordingStatus {
  std::uint32_t steps = 0;
  std::uint32_t window = 0;     // the latest that a process is in, from 1
  std::uint32_t processes = 0;  // that record
  bool stepping = false;        // some process has seen a step
};

struct Closing {
  std::uint32_t window = 0;     // the latest window that closed; 0: none
  std::uint32_t steps = 0;      // steady ones recorded in it: the least of those that counted any
  std::uint32_t processes = 0;  // that recorded
  int file_error = 0;           // errno: a process could not make its file, or not write on
  bool program_ended = false;
  bool full = false;         // the answer is asked for; else a line
  bool awaits_step = false;  // the program may still be starting
};

class WindowWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void Look(const std::vector<SlotView>& raw, Time now);

  // The latest window that is over for every process: some process closed it, none is still
  // counting steps in it, and those that follow have had time to close too. 0: none.
  std::uint32_t closed_window() const { return closed_window_; }
  // Some process records.
  bool recording() const { return recording_; }
  // Whoever recorded has closed its window before it made a step that counts, and nobody records:
  // what there is can be told, and a step that comes later opens the window again.
  bool awaits_step() const { return awaits_step_; }
  // Those that count steps have closed a window that closed_window() does not tell of yet.
  bool closing_now() const { return waiting_window_ > closed_window_; }
  // A window is over, and nothing is being recorded now, or only by what does not heed the page.
  bool settled() const { return settled_; }
  const RecordingStatus& status() const { return status_; }
  Closing closing() const { return closing_; }

 private:
  // Every process counts its windows from 1. Those of trainers that start when all that stepped
  // before them have ended (an elastic restart) come after the windows of these.
  std::vector<SlotView> CountedOn(std::vector<SlotView> slots);
  void Close(std::uint32_t closed, const std::vector<SlotView>& slots, Time now);

  RecordingStatus status_;
  Closing closing_;
  std::uint32_t closed_window_ = 0;
  bool recording_ = false, settled_ = false, awaits_step_ = false;
  std::uint32_t waiting_window_ = 0;  // closed for those that count steps, not yet for the others
  Time waiting_since_{}, closed_since_{};
  std::unordered_map<std::uint32_t, std::uint32_t> before_;  // pid: windows before its first
  std::uint32_t windows_before_ = 0;                         // of who starts to step now
};

}  // namespace hone::record
