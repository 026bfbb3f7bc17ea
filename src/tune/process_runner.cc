// SPDX-License-Identifier: Apache-2.0
#include "tune/process_runner.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>

#include "base/json_writer.h"
#include "bench/probe.h"
#include "bench/probe_variables.h"
#include "tune/batch_flag.h"

namespace hone::tune {
namespace {

// One after the last trial of an earlier session.
int NextNumber(const std::string& folder) {
  int next = 1;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view kPrefix = "trial-";
    if (!name.starts_with(kPrefix)) continue;
    int number = 0;
    const char* begin = name.data() + kPrefix.size();
    const auto [end, failed] = std::from_chars(begin, name.data() + name.size(), number);
    if (failed == std::errc() && end != begin) next = std::max(next, number + 1);
  }
  return next;
}

Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Error(fmt::format("{}: cannot be made: {}", folder, error.message()));
  return Ok();
}

Status WriteWhole(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return Error(path + ": cannot be written; is the disk full?");
  return Ok();
}

class NoListener : public bench::ExperimentListener {
 public:
  void Progress(const bench::ExperimentProgress&) override {}
};

// The program's own flag instead of its loader.
void OfferBatches(const ProcessOptions& options, Description& description) {
  std::erase_if(description.candidates, [](const Candidate& candidate) {
    return candidate.choice.treatment == kBatchTreatment;
  });
  std::erase_if(description.inapplicable,
                [](const Inapplicable& one) { return one.treatment == kBatchTreatment; });
  for (Candidate& candidate : BatchCandidates(options.command, options.batch_flag)) {
    description.candidates.push_back(std::move(candidate));
  }
}

// What the child has to do with it.
Recipe WithoutBatch(Recipe recipe, const std::string& batch_flag) {
  if (!batch_flag.empty()) {
    std::erase_if(recipe, [](const Choice& choice) { return choice.treatment == kBatchTreatment; });
  }
  return recipe;
}

}  // namespace

std::string OrderJson(const TrialOrder& order, const std::string& treatments) {
  std::string recipe;
  for (const Choice& choice : order.recipe) {
    // Options are JSON already.
    recipe += fmt::format("{}{{\"treatment\": {}, \"options\": {}}}", recipe.empty() ? "" : ", ",
                          JsonQuoted(choice.treatment), choice.options);
  }
  return fmt::format(
      "{{\"version\": 1, \"recipe\": [{}], \"seed_offset\": {}, \"steps\": {}, \"seconds\": {}, "
      "\"describe\": {}, \"recorded\": {}, \"compared\": {}, \"guard_steps\": {}, \"guard_s\": {}, "
      "\"treatments\": {}}}\n",
      recipe, order.seed_offset, order.steps, order.seconds, order.describe, order.recorded,
      order.compared, order.guard_steps, order.guard_s, JsonQuoted(treatments));
}

ProcessRunner::ProcessRunner(ProcessOptions options, bench::ChildRunner runner)
    : options_(std::move(options)),
      runner_(std::move(runner)),
      next_(NextNumber(options_.folder)) {}

Result<std::unique_ptr<ProcessRunner>> ProcessRunner::Make(ProcessOptions options) {
  HONE_CHECK(!options.command.empty());
  Result<bench::ChildRunner> runner = bench::ChildRunner::Prepare();
  if (!runner) return std::move(runner).error();
  return std::unique_ptr<ProcessRunner>(new ProcessRunner(std::move(options), std::move(*runner)));
}

double ProcessRunner::Elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - options_.start).count();
}

// The error of a full disk comes first: whatever else is said then is a consequence of it.
Result<Trial> ProcessRunner::Run(const TrialOrder& order, const std::string& purpose) {
  Result<Trial> trial = RunOnce(order, purpose);
  const bool well =
      trial && (trial->ending == Ending::kFine || trial->ending == Ending::kInterrupted);
  if (well || options_.disk == nullptr) return trial;
  if (std::optional<Error> full = options_.disk->Look()) return std::move(*full);
  if (!trial || !trial->disk_full) return trial;
  return options_.disk->Blame(fmt::format("a disk that the program writes to is full: {}: {}",
                                          trial->error_type, trial->error));
}

Result<Trial> ProcessRunner::RunOnce(const TrialOrder& order, const std::string& purpose) {
  const std::string folder = fmt::format("{}/trial-{:03}", options_.folder, next_++);
  HONE_RETURN_IF_ERROR(MakeFolder(folder));
  const std::string order_path = folder + "/order.json";
  TrialOrder inside = order;
  inside.recipe = WithoutBatch(order.recipe, options_.batch_flag);
  HONE_RETURN_IF_ERROR(WriteWhole(order_path, OrderJson(inside, options_.treatments)));
  bench::ChildOptions child;
  child.command = WithBatch(options_.command, options_.batch_flag, order.recipe);
  child.variables = options_.variables;
  child.output = folder + "/output.txt";
  child.timeout_s = order.timeout_s;
  child.lost_s = options_.lost_s;
  child.steppers = folder;
  bench::AddProbe(child.variables, options_.inject, folder);
  bench::SetVariable(child.variables, "HONE_TUNE=" + order_path);
  const double start_s = Elapsed();
  const Result<bench::ChildOutcome> outcome = runner_.Run(child, [&] {
    if (options_.tick) options_.tick();
  });
  if (!outcome) return Error(outcome.error());
  if (options_.ran) options_.ran();
  Description description;
  Result<Trial> trial = ReadTrial(folder, *outcome, order, description);
  if (!trial) return trial;
  trial->purpose = purpose;
  // What the command line does needs no hand inside of the program.
  if (inside.recipe.size() < order.recipe.size()) {
    trial->effects.push_back({std::string(kBatchTreatment), "applied", 1, ""});
  }
  trial->start_s = start_s;
  if (order.describe) {
    description_ = std::move(description);
    if (!options_.batch_flag.empty()) OfferBatches(options_, description_);
  }
  return trial;
}

Result<bench::Benchmark> ProcessRunner::Confirm(const ConfirmOrder& order) {
  Result<bench::Benchmark> benchmark = Compare(order);
  if (benchmark || options_.disk == nullptr) return benchmark;
  if (std::optional<Error> full = options_.disk->Look()) return std::move(*full);
  return benchmark;
}

Result<bench::Benchmark> ProcessRunner::Compare(const ConfirmOrder& order) {
  const std::string folder = options_.folder + "/confirm";
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);  // of a session that was cut off
  HONE_RETURN_IF_ERROR(MakeFolder(folder));
  bench::ExperimentPlan plan;
  for (const bool treated : {false, true}) {
    TrialOrder arm;
    arm.steps = order.steps;
    arm.compared = true;
    if (treated) arm.recipe = order.recipe;
    const std::vector<std::string> command =
        WithBatch(options_.command, options_.batch_flag, arm.recipe);
    arm.recipe = WithoutBatch(std::move(arm.recipe), options_.batch_flag);
    const std::string path = fmt::format("{}/order-{}.json", folder, treated ? "B" : "A");
    HONE_RETURN_IF_ERROR(WriteWhole(path, OrderJson(arm, options_.treatments)));
    plan.commands.push_back(command);
    plan.arm_variables.push_back({"HONE_TUNE=" + path});
  }
  const Result<bench::Metric> metric =
      bench::ParseMetric(order.by_samples ? "samples" : "step", false);
  HONE_CHECK(metric.has_value());
  plan.metric = *metric;
  plan.pairs = order.pairs;
  plan.budget_s = order.budget_s;
  plan.timeout_s = order.timeout_s;
  plan.folder = folder;
  plan.inject = options_.inject;
  plan.variables = options_.variables;
  plan.compare.minimum_effect = order.least_effect;
  // What treatments are for. Fewer samples, parameters or another mode is less work, never a cure.
  plan.compare.allow = {"precision", "optimizer", "layout", "compile", "operators"};
  if (order.random_data) plan.compare.allow.insert("data");
  if (order.other_batches) plan.compare.allow.insert({"batch", "data", "steps"});
  NoListener nobody;
  return bench::RunExperiment(plan, options_.confirm != nullptr ? *options_.confirm : nobody,
                              runner_);
}

}  // namespace hone::tune
