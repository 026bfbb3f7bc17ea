// SPDX-License-Identifier: Apache-2.0
// MachineSampler: counters of the program's processes, the machine and its GPUs, ten times a second
// from outside of the program, into machine.hone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/control.h"
#include "record/counter_file.h"

namespace hone::record {

class MachineSampler {
 public:
  // Makes the file. `facts`: what the run is, as (key, value).
  static Result<MachineSampler> Create(
      const std::string& folder, const std::vector<std::pair<std::string, std::string>>& facts);
  MachineSampler(MachineSampler&&) noexcept;
  MachineSampler& operator=(MachineSampler&&) = delete;
  ~MachineSampler();

  // Now, ten times a second. After a second it looks for GPUs, which may take another. After ten
  // minutes one call in ten does something: hours of a long warm-up are not worth the disk.
  void Sample(std::uint32_t program, const std::vector<SlotView>& slots);
  // Cores of the program's that had nothing to do in the last second or so.
  double IdleCores() const;
  // How the program ended, and the end of the file.
  void Finish(const std::vector<std::pair<std::string, std::string>>& facts);
  // The samples so far are on disk after this.
  void Flush();

 private:
  struct State;
  explicit MachineSampler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hone::record
