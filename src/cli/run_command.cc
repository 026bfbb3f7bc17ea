// SPDX-License-Identifier: Apache-2.0
#include "cli/run_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <csignal>
#include <filesystem>

#include "base/terminal.h"
#include "base/utf8.h"
#include "cli/run_listener.h"
#include "record/control.h"
#include "record/environment.h"
#include "record/installation.h"
#include "record/launch.h"
#include "record/limits.h"
#include "record/machine_sampler.h"
#include "record/session.h"
#include "report/version.h"

namespace hone::cli {
namespace {

// "64M", "1.5GiB", "67108864" -> bytes; 0 for what is no size.
std::uint64_t ParseBytes(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number <= 0) return 0;
  std::string unit(end, text.data() + text.size());
  double scale = 1;
  if (!unit.empty()) {
    constexpr std::string_view kUnits = "KMGkmg";
    const std::size_t at = kUnits.find(unit[0]);
    if (at == std::string_view::npos) return 0;
    for (std::size_t i = 0; i <= at % 3; ++i) scale *= 1024;
    unit.erase(0, 1);
    if (!unit.empty() && unit != "iB" && unit != "B" && unit != "b") return 0;
  }
  return number * scale < 1e15 ? static_cast<std::uint64_t>(number * scale) : 0;
}

// Steps of a few milliseconds: thirty of them hold fifteen samples of stacks and one or two of the
// machine, and rules that count those fall silent. A second has a hundred and ten.
constexpr double kLeastSeconds = 1;

CLI::Validator MemorySize() {
  CLI::Validator validator{std::string()};
  validator.operation([](std::string& value) -> std::string {
    const std::uint64_t bytes = ParseBytes(value);
    if (bytes >= record::kLeastMemory && bytes <= record::kMostMemory) return {};
    return fmt::format("{} is not a size from {}M to {}G; write 64M or 1G", Printable(value, false),
                       record::kLeastMemory >> 20, record::kMostMemory >> 30);
  });
  return validator;
}

CLI::Validator Seconds() {
  CLI::Validator validator{std::string()};
  validator.operation([](std::string& value) -> std::string {
    double number = -1;
    const char* const last = value.data() + value.size();
    const auto [end, error] = std::from_chars(value.data(), last, number);
    if (error == std::errc() && end == last && number > 0 && number < 1e9) return {};
    return fmt::format("{} is not a number of seconds above 0", Printable(value, false));
  });
  return validator;
}

void Say(Console& console, std::string_view message) {
  console.err << "hone run: " << Printable(message, LocaleIsUtf8()) << '\n';
}

}  // namespace

const VerbInfo& RunCommand::info() const {
  static const VerbInfo kInfo = {
      "run",
      "run a program and say why it is slow; no change to its code",
      "hone run [options] [--] CMD...",
      "Starts CMD with hone's recorder inside: operators, kernels, copies, memory, data loading, "
      "Python lines and the machine, of every process it starts. Recording ends after 30 steady "
      "steps, or after as many as fill a second if those are more; the program runs on at full "
      "speed, and the answer is printed to stderr and kept in a folder. If the program is "
      "interrupted, killed or crashes, there still is an answer. The exit code is the program's.",
      {{"hone run -- python train.py --epochs 3", "Why is this training slow?"},
       {"hone run --steps 100 --out before -- torchrun --nproc-per-node 8 train.py",
        "100 steps of all eight ranks, into the folder before/."},
       {"hone run --every 1000 -- python train.py",
        "A window every 1,000 steps of a long job: one line each, the answer at its end."}},
      "Everything is written to the folder; hone analyze DIR reads it again, hone whatif DIR "
      "--list "
      "asks it. hone help run says what is recorded, what it costs and what is never touched."};
  return kInfo;
}

void RunCommand::Declare(CLI::App& app) {
  CLI::Option* steps = app.add_option("--steps", steps_, "steady steps to record")
                           ->option_text("N")
                           ->default_str("30")
                           ->check(WholeNumber());
  CLI::Option* seconds =
      app.add_option("--seconds", seconds_, "stop recording after this long, steps or not")
          ->option_text("S")
          ->check(Seconds());
  CLI::Option* every = app.add_option("--every", every_, "a window every N steps, for long jobs")
                           ->option_text("N")
                           ->check(WholeNumber());
  CLI::Option* all = app.add_flag("--all", all_, "record from the program's start to its end");
  all->excludes(steps)->excludes(seconds)->excludes(every);
  steps_given_ = steps;
  for (CLI::Option* option : {steps, seconds, every, all}) option->group("how much to record");

  app.add_option("--collect", collect_, "only these, several with commas between")
      ->option_text("WHAT,...")
      ->expected(1)
      ->delimiter(',')
      ->allow_extra_args(false)  // the word after it may be a file
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(OneOf({"ops", "memory", "cuda", "nvtx", "nccl", "python", "loader", "shapes"}))
      ->group("what to record");
  app.add_option("--stack-hz", stack_hz_, "samples of the Python stacks a second, 0 for none")
      ->option_text("N")
      ->default_str("100")
      ->check(WholeNumber())
      ->group("what to record");
  app.add_option("--memory", memory_, "memory the recorder may take in each process")
      ->option_text("SIZE")
      ->default_str("64M")
      ->check(MemorySize())
      ->group("what to record");

  app.add_option("--recipe", recipe_, "with the treatments of a recipe.json that hone tune wrote")
      ->option_text("FILE")
      ->check(CLI::ExistingFile)
      ->group("what to record");
  out_given_ = app.add_option("--out", out_,
                              "folder of the recording; without it a fresh hone-NAME-TIME here")
                   ->option_text("DIR")
                   ->group("other");
  app.add_flag("--no-analyze", no_analyze_, "record only")->group("other");
  app.add_flag("--quiet", quiet_, "print no answer and no status; it is in the folder")
      ->group("other");
  app.add_option("--color", answer_.color, "colours; auto: on a terminal, unless NO_COLOR is set")
      ->option_text("WHEN")
      ->default_str("auto")
      ->check(OneOf({"auto", "always", "never"}))
      ->group("other");
}

record::RecordOptions RunCommand::Options() const {
  record::RecordOptions options;
  options.steps = static_cast<std::uint32_t>(std::min<std::int64_t>(steps_, UINT32_MAX));
  // Who says how many gets as many.
  options.least_seconds = steps_given_->count() > 0 ? 0 : kLeastSeconds;
  options.seconds = seconds_;
  options.all = all_;
  options.every = static_cast<std::uint64_t>(every_.value_or(0));
  options.stack_hz = stack_hz_;
  options.memory_bytes = memory_.empty() ? 0 : ParseBytes(memory_);
  options.collect = fmt::format("{}", fmt::join(collect_, ","));
  return options;
}

// What the run is, for whoever reads the folder later.
std::vector<std::pair<std::string, std::string>> RunCommand::Facts(
    const record::Environment& environment) const {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"recorder", fmt::format("hone {}", report::Version())},
      {"command", fmt::format("{}", fmt::join(command_, " "))},
  };
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  if (!error) facts.emplace_back("cwd", here.string());
  for (const auto& [name, why] : environment.notes) facts.emplace_back("note: " + name, why);
  return facts;
}

int RunCommand::Run(Console& console) {
  if (command_.empty()) {
    Say(console, "nothing to run; write hone run -- python train.py");
    return kExitUsage;
  }
  if (every_ == 0) {
    Say(console, "--every 0 has no steps between windows; give 1 or more, or leave it out");
    return kExitUsage;
  }
  if (out_given_->count() > 0 && out_.empty()) {
    Say(console, "--out names no folder; give one, or leave it out for a fresh one");
    return kExitUsage;
  }
  if (steps_ == 0 && seconds_ == 0) {
    Say(console, "--steps 0 records nothing; give --seconds with it, or --all");
    return kExitUsage;
  }
  const auto fail = [&](const Error& error, int code) {
    Say(console, error.message());
    return code;
  };
  const record::Variables own = record::OwnVariables();
  const record::FoundProgram program = record::FindProgram(command_[0], own);
  if (program.path.empty()) return fail(Error(program.message), program.exit_code);
  if (const std::string why = record::WhyLimitsForbid(); !why.empty()) {
    Say(console, fmt::format("the program runs unrecorded: {}", why));
    record::InheritedSignals signals = record::CurrentSignals();
    if (console.pipe_was_ignored) signals.ignored.push_back(SIGPIPE);
    const record::StartedProgram not_started =
        record::BecomeProgram(program.path, command_, own, signals);
    return fail(Error(not_started.message), not_started.exit_code);
  }
  const Result<record::Installation> installation = record::FindInstallation();
  if (!installation) return fail(installation.error(), kExitFailed);
  const Result<std::string> folder = record::MakeRunFolder(out_, record::NameOfCommand(command_));
  if (!folder) return fail(folder.error(), kExitFailed);
  const record::RecordOptions options = Options();
  Result<record::Control> control = record::Control::Create(*folder, options.steps);
  if (!control) return fail(control.error(), kExitFailed);
  record::Environment environment = record::BuildEnvironment(own, *installation, *folder, options);
  if (!recipe_.empty()) {
    std::error_code ignored;
    environment.variables.push_back("HONE_RECIPE=" +
                                    std::filesystem::absolute(recipe_, ignored).string());
  }
  Result<record::MachineSampler> sampler =
      record::MachineSampler::Create(*folder, Facts(environment));
  if (!sampler) return fail(sampler.error(), kExitFailed);
  Result<record::Session> session = record::Session::Prepare();
  if (!session) return fail(session.error(), kExitFailed);

  record::InheritedSignals signals = session->inherited();
  if (console.pipe_was_ignored) signals.ignored.push_back(SIGPIPE);
  const record::StartedProgram started = record::StartProgram(
      program.path, command_, record::RefusesPreload(program.path) ? own : environment.variables,
      signals);
  if (started.pid < 0) {
    record::ForgetRunFolder(*folder);
    return fail(Error(started.message), started.exit_code);
  }

  RunPlan plan;
  plan.program = program.path;
  plan.pid = static_cast<std::uint32_t>(started.pid);
  plan.folder = *folder;
  plan.steps = options.steps;
  plan.exactly = options.least_seconds == 0;
  plan.every = every_.has_value();
  plan.all = all_;
  plan.quiet = quiet_;
  plan.analyze = !no_analyze_;
  plan.notes = environment.notes;
  plan.answer = answer_;
  RunListener listener(plan, &*sampler, console);
  const int status = session->Run(started.pid, *control,
                                  {plan.every, seconds_ > 0, plan.analyze, command_}, listener);
  return record::ExitCodeOf(status);
}

}  // namespace hone::cli
