// SPDX-License-Identifier: Apache-2.0
// MachineCounters: what the cores, the memory and the disks of the machine do, and what the control
// group lets us have of them. Series: docs/user/run.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "record/control_group.h"
#include "record/counter_file.h"
#include "record/idle_cores.h"
#include "record/proc_file.h"

namespace hone::record {

class MachineCounters {
 public:
  explicit MachineCounters(CounterFile& file);

  // Up to ten reads. Where they take long (the kernel sums over hundreds of cores), most of them
  // are left to one sample in ten; those that change fast are always taken.
  void Sample();

  // Cores the program may use: by affinity, and by the quota of its control group.
  double cores() const { return cores_; }
  // Whether the program may use less than the whole machine. Threads that want to run are then
  // counted among its own only: the machine's other cores are busy with others' work.
  bool limited() const { return limited_; }
  // Of these, how many had nothing to do in the last second or so; 0 until that is known.
  double idle_cores() const { return idle_.cores(); }

 private:
  void Put(const char* series, double value);
  void SampleSlow();
  void SampleCores();
  void SampleDisks();
  void SayFacts();

  CounterFile& file_;
  const std::uint32_t track_;
  ControlGroup group_;
  std::array<bool, 1024> allowed_{};
  double cores_ = 1;
  IdleCores idle_;
  bool limited_ = false;
  double seconds_a_tick_ = 0.01;
  std::uint64_t samples_ = 0;
  bool slow_ = false;
  ProcFile load_, stat_, memory_, disks_, cpu_pressure_, io_pressure_, memory_pressure_;
  std::vector<std::string> disk_names_;
};

}  // namespace hone::record
