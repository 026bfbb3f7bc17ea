// SPDX-License-Identifier: Apache-2.0
// ProcessCounters: what the program's processes do, all of its tree, and its busiest threads.
// Series: docs/user/run.md.
//
// Bounded: so many processes and threads, what is beyond is counted. New processes are found by a
// look through /proc twice a second (those of the control page at once).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "record/counter_file.h"
#include "record/proc_file.h"

namespace hone::record {

class ProcessCounters {
 public:
  // Three descriptors a process: with the threads' ones far below the usual limit of 1,024.
  static constexpr std::size_t kMostProcesses = 128;
  static constexpr std::size_t kMostThreads = 512;  // looked at in a search for the busiest
  static constexpr std::size_t kBusiest = 16;

  ProcessCounters(CounterFile& file, std::uint32_t root);

  // A process of the program that its tree may not show (its parent is gone).
  void Add(std::uint32_t pid);
  // `count_runnable`: also write how many threads of the program want to run (docs: a limited
  // machine), which takes a look at every thread.
  void Sample(bool count_runnable);
  // What was left out, as losses of the file.
  void Finish();

 private:
  struct Process {
    std::uint32_t pid = 0, track = 0;
    ProcFile stat, io, status;
  };
  struct Thread {
    std::uint32_t pid = 0, tid = 0, track = 0;
    ProcFile schedule;
  };
  void FindChildren();
  void FindBusiest(bool rank, bool count_runnable);
  bool SampleProcess(Process& process);

  CounterFile& file_;
  std::uint32_t looks_ = 0;
  std::vector<Process> processes_;
  std::unordered_set<std::uint32_t> ours_;
  std::unordered_set<std::uint32_t> others_;  // seen, and not ours
  std::vector<Thread> busiest_;
  std::unordered_map<std::uint32_t, std::uint64_t> thread_ticks_;  // of the look before
  double page_bytes_ = 4096, seconds_a_tick_ = 0.01;
  std::uint64_t processes_left_out_ = 0, threads_left_out_ = 0;
};

}  // namespace hone::record
