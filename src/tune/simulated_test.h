// SPDX-License-Identifier: Apache-2.0
// A program whose truth is known, for the tests of the search: what each treatment does to its
// rate, alone and with others, how runs scatter, what fails and what learns something else.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "bench/compare.h"
#include "tune/search.h"

namespace hone::tune {

class Simulated : public TrialRunner {
 public:
  explicit Simulated(std::uint64_t seed) : random_(seed) {}

  Candidate& Add(const std::string& name, double factor, Risk risk = Risk::kExact,
                 const std::string& options = "{}") {
    Candidate candidate;
    candidate.choice = {name, options};
    candidate.title = name;
    candidate.risk = risk;
    candidate.prior = 1.1;
    description_.candidates.push_back(candidate);
    factors[Name(candidate.choice)] = factor;
    return description_.candidates.back();
  }

  // What the maps below are keyed by.
  static std::string Name(const Choice& choice) {
    return choice.treatment + (choice.options == "{}" ? "" : choice.options);
  }

  double TrueFactor(const Recipe& recipe) const {
    std::set<std::string> names;
    double factor = 1;
    for (const Choice& choice : recipe) {
      names.insert(Name(choice));
      factor *= factors.at(Name(choice));
    }
    return interaction ? factor * interaction(names) : factor;
  }

  Result<Trial> Run(const TrialOrder& order, const std::string& purpose) override {
    if (stop_after && ran.size() >= *stop_after) {
      Trial cut;
      cut.order = order;
      cut.ending = Ending::kInterrupted;
      return cut;
    }
    Trial trial;
    trial.order = order;
    trial.purpose = purpose;
    trial.device = "cpu";
    trial.counts_samples = true;
    trial.left = true;
    const double factor = TrueFactor(order.recipe);
    trial.rate = rate * factor * std::exp(Noise());
    bench::Steps steps;
    steps.count = order.steps > 0 ? static_cast<std::uint64_t>(order.steps) : 40;
    steps.warmup = 10;
    steps.steady = steps.count - 10;
    steps.mean_s = 8 / *trial.rate;
    steps.samples_per_s = trial.rate;
    steps.data_wait_share = wait_share ? wait_share(order.recipe) : 0.3;
    trial.steps = steps;
    trial.samples_per_step = 8;
    trial.wall_s = Wall(order.recipe, steps.count, *trial.rate);
    trial.steps->first_s =
        trial.wall_s - (steps_take_time ? static_cast<double>(steps.count) * steps.mean_s : 0);
    trial.folder = "trial-" + std::to_string(ran.size() + 1);
    for (const Choice& choice : order.recipe) {
      const std::string name = Name(choice);
      trial.effects.push_back(
          {choice.treatment, inert.contains(name) ? "inert" : "applied", 1, "does it itself"});
      if (failures.contains(name)) {
        trial.ending = failures[name];
        trial.rate.reset();
        trial.error = "planted";
      }
      if (shares.contains(name)) trial.device_share = shares[name];
    }
    SetLosses(trial);
    clock += trial.wall_s;
    ran.push_back(order);
    return trial;
  }

  const Description& description() const override { return description_; }

  Result<bench::Benchmark> Confirm(const ConfirmOrder& order) override {
    bench::Benchmark benchmark;
    benchmark.metric = *bench::ParseMetric("samples", false);
    benchmark.arms = {{"A", {"program"}, {}}, {"B", {"program"}, {}}};
    const double begin = clock;
    const auto length = [&](int arm) {
      return Wall(arm == 0 ? Recipe{} : order.recipe, static_cast<std::uint64_t>(order.steps),
                  rate * (arm == 0 ? 1 : TrueFactor(order.recipe)));
    };
    for (int pair = 1;
         pair <= order.pairs && clock - begin + length(0) + length(1) <= order.budget_s; ++pair) {
      for (int arm = 0; arm < 2; ++arm) {
        bench::Run run;
        run.pair = pair;
        run.slot = pair % 2 == 1 ? arm : 1 - arm;
        run.value =
            rate * (arm == 1 ? TrueFactor(order.recipe) * confirm_factor : 1) * std::exp(Noise());
        run.work.why_not = "simulated";
        benchmark.arms[static_cast<std::size_t>(arm)].runs.push_back(run);
        clock += length(arm);
      }
    }
    confirmed.push_back(order);
    bench::CompareOptions options;
    options.minimum_effect = order.least_effect;
    bench::CompareAll(benchmark, stats::PlanLooks(order.pairs), options);
    return benchmark;
  }

  double Elapsed() const override { return clock; }
  bool interrupted() override { return false; }

  std::size_t CountRuns(const std::string& key) const {
    std::size_t count = 0;
    for (const TrialOrder& order : ran) count += KeyOf(order.recipe) == key ? 1 : 0;
    return count;
  }

  std::map<std::string, double> factors, extra_s, shares;
  std::function<double(const std::set<std::string>&)> interaction;
  std::function<double(const Recipe&)> wait_share;
  std::function<double(double)>
      busy;  // by the clock: what others take of the machine, as a logarithm
  std::map<std::string, Ending> failures;
  std::set<std::string> inert, wrong;  // `wrong`: learns something else
  double noise = 0.01, wall_s = 10, clock = 0, confirm_factor = 1, rate = 100;
  bool steps_take_time = false;  // then wall_s is what a run takes before its first step
  bool heavy_tails = false, learns = true;
  std::optional<std::size_t> stop_after;
  std::vector<TrialOrder> ran;
  std::vector<ConfirmOrder> confirmed;

 private:
  // What compiles does so for as long as it says when its recipe runs first, and finds most of that
  // again later.
  double Wall(const Recipe& recipe, std::uint64_t steps, double samples_per_s) {
    double seconds = wall_s;
    if (steps_take_time) seconds += static_cast<double>(steps) * 8 / samples_per_s;
    const bool again = !compiled_.insert(KeyOf(recipe)).second;
    for (const Choice& choice : recipe) {
      seconds += extra_s[Name(choice)] * (steps_take_time && again ? 0.3 : 1);
    }
    return seconds;
  }

  double Noise() {
    const double slow = busy ? busy(clock) : 0;
    const double normal = std::normal_distribution<double>(0, noise)(random_);
    if (!heavy_tails) return normal - slow;
    return std::student_t_distribution<double>(3)(random_) * noise * 0.7 - slow;
  }

  void SetLosses(Trial& trial) {
    if (!learns) return;
    std::mt19937_64 data(static_cast<std::uint64_t>(trial.order.seed_offset) + 77);
    std::normal_distribution<double> batch(0, 0.02);
    bool drifts = false;
    for (const Choice& choice : trial.order.recipe)
      drifts = drifts || wrong.contains(choice.treatment);
    for (std::uint64_t i = 0; i < trial.steps->count; ++i) {
      double loss = 2 + 5 * std::exp(-static_cast<double>(i) / 30);
      loss *= std::exp(batch(data));
      if (drifts) loss *= 1 + 0.004 * static_cast<double>(i);
      trial.losses.push_back(loss);
    }
  }

  std::mt19937_64 random_;
  std::set<std::string> compiled_;
  Description description_;
};

class Silent : public SearchListener {
 public:
  void Started(const Start& start) override {
    last_start_s = start.elapsed_s;
    purposes.push_back(start.purpose);
  }
  void Ended(const Trial&, const std::string& decision) override { decisions.push_back(decision); }
  void Confirming(const ConfirmOrder&) override {}
  void Confirmed(const bench::Benchmark&, const std::string& decision) override {
    decisions.push_back(decision);
  }
  std::vector<std::string> purposes, decisions;
  double last_start_s = 0;
};

inline const Row& RowOf(const TuneResult& result, const std::string& name) {
  for (const Row& row : result.rows) {
    if (row.candidate.choice.treatment == name) return row;
  }
  ADD_FAILURE() << name << " has no row";
  return result.rows[0];
}

inline std::set<std::string> Names(const Recipe& recipe) {
  std::set<std::string> names;
  for (const Choice& choice : recipe) names.insert(choice.treatment);
  return names;
}

inline TuneResult Searched(Simulated& program, const SearchOptions& options, Silent& listener) {
  Result<TuneResult> result = Search(options, program, listener);
  EXPECT_TRUE(result) << (result ? "" : result.error().message());
  return result ? std::move(*result) : TuneResult();
}

inline TuneResult Searched(Simulated& program, const SearchOptions& options = {}) {
  Silent listener;
  return Searched(program, options, listener);
}

}  // namespace hone::tune
