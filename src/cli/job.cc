// SPDX-License-Identifier: Apache-2.0
#include "cli/job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>

#include "analyze/grouping.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/one_job.h"
#include "cli/profiler_window.h"
#include "cli/progress.h"
#include "doctor/replay_trust.h"
#include "import/import.h"

namespace hone::cli {
namespace {

struct Paths {
  std::vector<std::string> files;
  std::uint64_t bytes = 0;
  std::size_t missing = 0;  // arguments that lead to no file
};

// Names in messages go to a terminal: paths may hold anything.
void Say(Console& console, std::string_view message) {
  console.err << "hone: " << Printable(message, LocaleIsUtf8()) << '\n';
}

Paths FindAll(const std::vector<std::string>& arguments, Console& console) {
  Paths paths;
  for (const std::string& argument : arguments) {
    std::vector<std::string> left_out;
    Result<std::vector<std::string>> found = importer::FindTraces(argument, &left_out);
    if (!found) {
      Say(console, found.error().message());
      ++paths.missing;
      continue;
    }
    for (const std::string& sentence : left_out) Say(console, sentence);
    for (std::string& file : *found) {
      std::error_code error;
      const std::uintmax_t size = std::filesystem::file_size(file, error);
      if (!error) paths.bytes += size;
      paths.files.push_back(std::move(file));
    }
  }
  return paths;
}

void WarnOfDamage(const report::Input& input, Console& console) {
  const trace::TraceInfo& info = input.trace.info;
  std::string damage = input.trace.losses[LossKind::kDamagedCompression].first_detail;
  if (damage.empty()) damage = "the compressed stream is damaged";
  Say(console, fmt::format("{}: {}; {} before it {} read, trust is {}", info.path, damage,
                           Count(info.events_seen, "event"), info.events_seen == 1 ? "was" : "were",
                           analyze::VerdictName(input.facts.trust.verdict)));
}

// What no writer reads, and grows with the trace. Collectives stay until ranks are compared.
void ReleaseRows(report::Input& input) {
  input.trace.ReleaseRows();
  if (input.facts.idle) input.facts.idle->gaps = {};
  if (input.facts.timeline) {
    for (analyze::DeviceTimeline& device : input.facts.timeline->devices) {
      device.busy = device.compute = device.comm = device.copy = {};
    }
  }
}

void AddSteady(const report::Input& input, analyze::RankComm& rank) {
  rank.steady_steps = input.facts.steps.steady_count();
  for (const trace::Interval& part : input.facts.steps.steady_window) {
    rank.steady.AppendSorted({analyze::SaturatingAdd(input.trace.info.base_time_ns, part.begin_ns),
                              analyze::SaturatingAdd(input.trace.info.base_time_ns, part.end_ns)});
  }
  if (!input.facts.timeline) return;
  rank.compute_step_ns =
      static_cast<double>(input.facts.timeline->main_device().steady.compute_ns) /
      static_cast<double>(rank.steady_steps);
}

Known<analyze::SkewFacts> CompareRanks(const std::vector<report::Input>& inputs) {
  std::vector<analyze::RankComm> ranks;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const report::Input& input = inputs[i];
    analyze::RankComm rank;
    rank.rank = report::RankNumber(inputs, i);
    rank.path = input.trace.info.path;
    rank.comm = input.facts.comm ? &*input.facts.comm : nullptr;
    rank.median_step_ns = input.facts.steps.stats ? input.facts.steps.stats->median_ns : 0;
    if (input.facts.steps.steady_count() > 0) AddSteady(input, rank);
    ranks.push_back(std::move(rank));
  }
  return analyze::MeasureSkew(ranks);
}

// What could not be read is missing from every number that speaks of the job.
void DistrustMissing(report::Input& lead, std::size_t read, std::size_t asked) {
  if (read == asked) return;
  analyze::Lower(lead.facts.trust, analyze::Verdict::kPartial,
                 fmt::format("{} of {} inputs could not be read and are missing below; the "
                             "messages say why",
                             asked - read, asked));
}

// Whether `a` leads before `b`: the asked rank, then the slowest, then the lower rank.
bool Leads(const report::Input& a, const report::Input& b, std::int64_t asked) {
  const auto key = [&](const report::Input& input) {
    const std::int64_t rank = input.trace.info.rank;
    const auto& stats = input.facts.steps.stats;
    return std::tuple(asked >= 0 && rank == asked ? 0 : 1, stats ? -stats->median_ns : 1, rank);
  };
  return key(a) < key(b);
}

// Where ranks wait for each other their steps take equally long, and which is slowest is chance.
// The one to look at is the one that the others wait for, where that is worth a line: as much as
// the least finding is.
constexpr double kLateShare = 0.02;  // of a step

// The place of that rank among the inputs; their number: none stands out.
std::size_t FindLate(const std::vector<report::Input>& inputs,
                     const Known<analyze::SkewFacts>& skew) {
  if (!skew || skew->straggler < 0) return inputs.size();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (report::RankNumber(inputs, i) != skew->straggler) continue;
    const analyze::Steps& steps = inputs[i].facts.steps;
    if (steps.stats &&
        skew->lost.likely_ns >= kLateShare * static_cast<double>(steps.stats->median_ns)) {
      return i;
    }
  }
  return inputs.size();
}

// The slowest, or the asked rank.
Result<std::size_t> ChooseLead(const std::vector<report::Input>& inputs, std::int64_t rank) {
  const auto lead = std::min_element(
      inputs.begin(), inputs.end(),
      [&](const report::Input& a, const report::Input& b) { return Leads(a, b, rank); });
  if (rank < 0 || lead->trace.info.rank == rank) {
    return static_cast<std::size_t>(lead - inputs.begin());
  }
  std::vector<std::int64_t> ranks;
  for (const report::Input& input : inputs) {
    if (input.trace.info.rank >= 0) ranks.push_back(input.trace.info.rank);
  }
  return Error(ranks.empty()
                   ? fmt::format("--rank {}: the traces do not say which rank they are", rank)
                   : fmt::format("--rank {}: no trace of that rank; there are: {}", rank,
                                 fmt::join(ranks, ", ")));
}

class Loader {
 public:
  Loader(const JobOptions& options, const Paths& paths, Console& console)
      : options_(options),
        paths_(paths),
        console_(console),
        progress_(console.err, !options.quiet && IsTerminal(console.err_fd),
                  TerminalWidth(console.err_fd), LocaleIsUtf8()) {}

  JobResult Run() {
    JobResult result;
    for (const std::string& file : paths_.files) {
      if (!LoadOne(file, result.report.inputs)) result.code = kExitUnreadable;
    }
    progress_.Erase();
    SayWindows();
    return result;
  }

  std::size_t left_out() const { return left_out_.size(); }
  // Whether the input still has its rows; else it is read again before they are needed.
  bool HasRows(const report::Input& input) const {
    return options_.keep_rows || input.trace.host.size() + input.trace.device.size() > 0;
  }

  // Rows again of an input that lost them to one that led until all were compared. False: the file
  // cannot be read any more.
  bool ReadAgain(report::Input& input) {
    Result<trace::Trace> trace = importer::LoadTrace(file_of_[input.trace.info.path], {});
    if (!trace) return false;
    input = Look(std::move(*trace));
    return true;
  }

 private:
  report::Input Look(trace::Trace trace) const {
    report::Input input;
    input.trace = std::move(trace);
    input.facts = analyze::Analyze(input.trace, {options_.group_by, options_.group_by});
    if (options_.tracelens) input.tracelens = analyze::ComputeTraceLens(input.trace);
    if (options_.hta) input.hta = analyze::ComputeHta(input.trace);
    return input;
  }

  // False: not read, or not in full.
  bool LoadOne(const std::string& file, std::vector<report::Input>& inputs) {
    importer::ImportOptions load;
    std::uint64_t file_bytes = 0;
    load.progress = [&](std::uint64_t done, std::uint64_t total) {
      file_bytes = total;
      progress_.Update(bytes_before_ + done, std::max(paths_.bytes, total), file);
    };
    Result<trace::Trace> trace = importer::LoadTrace(file, load);
    bytes_before_ += file_bytes;
    if (!trace) {
      progress_.Erase();
      Say(console_, trace.error().message());
      return false;
    }
    report::Input input = Look(std::move(*trace));
    file_of_[input.trace.info.path] = file;
    const bool damaged = input.trace.info.compression_damaged;
    if (damaged) {
      progress_.Erase();
      WarnOfDamage(input, console_);
    }
    const auto window = ProfilerWindow::Of(input.trace);
    for (std::size_t i = 0; window && i < inputs.size(); ++i) {
      if (!windows_[i] || !windows_[i]->OfOneProcessWith(*window)) continue;
      TakeLast(std::move(input), *window, inputs[i], *windows_[i]);
      return !damaged;
    }
    inputs.push_back(std::move(input));
    windows_.push_back(window);
    KeepLead(inputs);
    return !damaged;
  }

  // Two windows of one process are no two ranks. The later one stands for both: the program has
  // warmed up.
  void TakeLast(report::Input input, const ProfilerWindow& window, report::Input& other,
                ProfilerWindow& others) {
    const bool later = window.begin_ns > others.begin_ns;
    left_out_.push_back((later ? other : input).trace.info.path);
    if (!later) return;
    if (!HasRows(other)) ReleaseRows(input);
    other = std::move(input);
    others = window;
  }

  void SayWindows() {
    if (left_out_.empty()) return;
    const std::size_t others = left_out_.size() - 1;
    Say(console_,
        fmt::format(
            "{}{} of a process that was recorded again later, so the last window stands for "
            "it; to read another, name it alone, to compare two: hone diff A B",
            left_out_.front(),
            others == 0 ? std::string(" is an earlier window")
                        : fmt::format(" and {} are earlier windows", Count(others, "other file"))));
  }

  // Of the new input and the one that led so far, one keeps its rows.
  void KeepLead(std::vector<report::Input>& inputs) {
    const std::size_t last = inputs.size() - 1;
    if (last == 0 || options_.keep_rows) return;
    const bool leads = Leads(inputs[last], inputs[lead_], options_.rank);
    ReleaseRows(inputs[leads ? lead_ : last]);
    if (leads) lead_ = last;
  }

  const JobOptions& options_;
  const Paths& paths_;
  Console& console_;
  Progress progress_;
  std::uint64_t bytes_before_ = 0;
  std::size_t lead_ = 0;                                // so far
  std::map<std::string, std::string> file_of_;          // by the trace's own path
  std::vector<std::optional<ProfilerWindow>> windows_;  // by input, as they were loaded
  std::vector<std::string> left_out_;
};

}  // namespace

Result<JobResult> RunJob(const JobOptions& options, Console& console) {
  const Paths paths = FindAll(options.paths, console);
  Loader loader(options, paths, console);
  JobResult result = loader.Run();
  if (paths.missing > 0) result.code = kExitUnreadable;
  report::Report& report = result.report;
  report.group_by = options.group_by;
  report.asked = options.paths;
  report.stable = options.stable;
  if (report.inputs.empty()) return result;
  std::stable_sort(report.inputs.begin(), report.inputs.end(),
                   [](const report::Input& a, const report::Input& b) {
                     return a.trace.info.rank < b.trace.info.rank;
                   });
  if (report.inputs.size() > 1) report.skew = CompareRanks(report.inputs);
  Result<std::size_t> lead = ChooseLead(report.inputs, options.rank);
  if (!lead) return std::move(lead).error();
  report.lead = *lead;
  const std::size_t late =
      options.rank < 0 ? FindLate(report.inputs, report.skew) : report.inputs.size();
  if (!loader.HasRows(report.inputs[report.lead]) &&
      !loader.ReadAgain(report.inputs[report.lead])) {
    return Error(fmt::format("{}: cannot be read a second time",
                             report.inputs[report.lead].trace.info.path));
  }
  if (late < report.inputs.size() && late != report.lead &&
      (options.keep_rows || loader.ReadAgain(report.inputs[late]))) {
    if (!options.keep_rows) ReleaseRows(report.inputs[report.lead]);
    report.lead = late;
  }
  report::Input& leading = report.inputs[report.lead];
  for (std::string& doubt : DoubtOneJob(report.inputs)) {
    analyze::Lower(leading.facts.trust, analyze::Verdict::kPartial, std::move(doubt));
  }
  DistrustMissing(leading, report.inputs.size() + loader.left_out(),
                  paths.files.size() + paths.missing);
  if (options.diagnose) {
    report.diagnosis =
        doctor::Diagnose(leading.trace, leading.facts, report.skew ? &*report.skew : nullptr);
    if (const auto& replay = report.diagnosis->replay; replay) {
      doctor::DoubtReplay(replay->measured_ns, replay->replayed_ns, leading.facts.trust);
    }
  }
  return result;
}

}  // namespace hone::cli
