// SPDX-License-Identifier: Apache-2.0
// What `hone tune` shows while it works, on stderr: a line for each trial that ended, and on a
// terminal one below it for the trial that runs.
#pragma once

#include <chrono>
#include <string>

#include "bench/experiment.h"
#include "cli/console.h"
#include "tune/search.h"

namespace hone::cli {

class TuneProgress : public tune::SearchListener, public bench::ExperimentListener {
 public:
  TuneProgress(Console& console, bool shown, double budget_s);
  ~TuneProgress() override { Erase(); }
  TuneProgress(const TuneProgress&) = delete;
  TuneProgress& operator=(const TuneProgress&) = delete;

  // A line of its own, wrapped at the terminal's width.
  void Say(const std::string& text);
  // What runs now; then Tick() ten times a second.
  void Begin(const std::string& what);
  void Tick();
  void Erase();

  void Started(const Start& start) override;
  void Ended(const tune::Trial& trial, const std::string& decision) override;
  void Confirming(const tune::ConfirmOrder& order) override;
  void Confirmed(const bench::Benchmark& benchmark, const std::string& decision) override;
  void Progress(const bench::ExperimentProgress& progress) override;

 private:
  using Clock = std::chrono::steady_clock;
  double Elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void Show(const std::string& line);

  Console& console_;
  const bool shown_, terminal_, utf8_;
  const std::size_t width_;
  const double budget_s_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point begun_ = start_, drawn_{};
  std::string now_;  // what runs
  bool visible_ = false;
};

// "bf16-autocast, on top of 2 others"; "as it is" for an empty recipe.
std::string TrialName(const std::string& purpose, const tune::Recipe& recipe,
                      const tune::Candidate* candidate);

}  // namespace hone::cli
