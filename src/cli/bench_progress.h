// SPDX-License-Identifier: Apache-2.0
// The line on stderr while `hone bench` measures: pairs done, time left at most, the ratio so far.
#pragma once

#include <chrono>
#include <ostream>
#include <string>

#include "bench/experiment.h"

namespace hone::cli {

class BenchProgress : public bench::ExperimentListener {
 public:
  // `shown` off: every call does nothing. `width`: columns of the terminal.
  BenchProgress(std::ostream& err, bool shown, std::size_t width, bool utf8);
  ~BenchProgress() override { Erase(); }
  BenchProgress(const BenchProgress&) = delete;
  BenchProgress& operator=(const BenchProgress&) = delete;

  void Progress(const bench::ExperimentProgress& progress) override;
  void Erase();

  std::string Line(const bench::ExperimentProgress& progress) const;

 private:
  std::ostream& err_;
  const bool shown_;
  const std::size_t width_;
  const bool utf8_;
  bool visible_ = false;
};

}  // namespace hone::cli
