// SPDX-License-Identifier: Apache-2.0
#include "cli/diff_command.h"

#include <fmt/format.h>

#include "base/terminal.h"
#include "base/utf8.h"
#include "report/diff/diff_html.h"
#include "report/diff/diff_json.h"
#include "report/diff/diff_markdown.h"
#include "report/diff/diff_text.h"
#include "report/diff/diff_words.h"

namespace hone::cli {
namespace {

std::string LastPart(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return path;
  const std::size_t slash = path.find_last_of('/', end);
  return path.substr(slash == std::string::npos ? 0 : slash + 1,
                     end - (slash == std::string::npos ? std::string::npos : slash));
}

report::DiffSide Describe(const report::Report& job, const std::string& given, bool stable) {
  const report::Input& lead = job.leading();
  report::DiffSide side;
  side.name = stable ? LastPart(given) : given;
  side.path = report::ShownPath(job, lead);
  side.format = trace::FormatName(lead.trace.info.format);
  side.traces = job.inputs.size();
  side.lead_rank = lead.trace.info.rank;
  side.trust = lead.facts.trust;
  return side;
}

}  // namespace

const VerbInfo& DiffCommand::info() const {
  static const VerbInfo kInfo = {
      "diff",
      "say what changed between two recordings, and where the time went",
      "hone diff BEFORE AFTER [options]",
      "Compares the steps of two recordings of any format: faster or slower, by how much, whether "
      "that is more than noise, and which operators, kernels and idle causes did it. A directory "
      "stands for the ranks of one job; of each side the one that leads hone analyze is compared. "
      "With --fail-if it is a gate for CI.",
      {{"hone diff before.json.gz after.json.gz", "The answer on one screen."},
       {"hone diff main.json.gz branch.json.gz --fail-if slower=3%,memory=5%",
        "Exit code 4 when the step grew by over 3 % and beyond noise, or memory by over 5 %."},
       {"hone diff main.json.gz branch.json.gz --markdown | gh pr comment 7 -F -",
        "The same as a comment on a pull request."}},
      "Exit codes: 0 fine, 1 hone failed, 2 usage, 3 an input could not be read (in full), 4 a "
      "--fail-if condition is met. hone help diff says more."};
  return kInfo;
}

void DiffCommand::Declare(CLI::App& app) {
  app.add_option("BEFORE", before_, "a trace, or a directory of ranks")
      ->option_text("BEFORE")
      ->required();
  app.add_option("AFTER", after_, "what to compare with it")->option_text("AFTER")->required();
  app.add_option("--fail-if", fail_if_,
                 "exit with 4 when this grew by more: slower=3%, memory=5%, reserved, kernels, "
                 "launches; several with commas between")
      ->option_text("WHAT=AMOUNT")
      ->expected(1)
      ->allow_extra_args(false)  // the word after it may be a file
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("what to ask");
  app.add_option("--rank", rank_,
                 "the rank to compare on both sides; without it the one that leads")
      ->option_text("N")
      ->check(WholeNumber())
      ->group("what to ask");
  CLI::Option* all = app.add_flag("--all", all_, "text: every table, not only the first screen");
  CLI::Option* json = app.add_flag("--json", json_, "the whole answer as JSON");
  CLI::Option* markdown = app.add_flag("--markdown", markdown_, "as a comment on a pull request");
  CLI::Option* html = app.add_option("--html", html_, "write a page of it, besides the answer")
                          ->option_text("FILE");
  all->excludes(json)->excludes(markdown);
  json->excludes(markdown);
  for (CLI::Option* option : {all, json, markdown, html}) option->group("what to print");
  limit_option_ =
      app.add_option("--limit", limit_, "rows of a table, 0 for all; JSON has all unless given")
          ->option_text("N")
          ->default_str("20")
          ->check(WholeNumber())
          ->group("what to print");
  DeclareAnswer(app, answer_);
  app.add_flag("--quiet", quiet_, "no progress bar")->group("other");
  app.add_flag("--stable", stable_, "leave out folders, clock and version, for comparing output")
      ->group("other");
}

Result<std::vector<diff::Condition>> DiffCommand::Conditions() const {
  std::vector<diff::Condition> all;
  for (const std::string& text : fail_if_) {
    Result<std::vector<diff::Condition>> conditions = diff::ParseConditions(text);
    if (!conditions) return std::move(conditions).error();
    all.insert(all.end(), conditions->begin(), conditions->end());
  }
  return all;
}

JobOptions DiffCommand::Job(const std::string& path) const {
  JobOptions job;
  job.paths = {path};
  job.rank = rank_;
  job.stable = stable_;
  job.quiet = quiet_;
  job.diagnose = false;
  return job;
}

int DiffCommand::Answer(const report::DiffReport& report, Console& console) const {
  const auto limit = static_cast<std::size_t>(limit_);
  const int written = WriteAnswer(answer_, console, [&](std::ostream& out) {
    if (json_) {
      const bool given = limit_option_->count() > 0 && limit_ > 0;
      report::WriteDiffJson(report, given ? std::optional(limit) : std::nullopt, out);
    } else if (markdown_) {
      report::WriteDiffMarkdown(report, limit, out);
    } else {
      report::WriteDiffText(report, {StyleFor(answer_, console), all_, limit}, out);
    }
    return Ok();
  });
  if (written != kExitFine || html_.empty()) return written;
  return WriteAnswer({html_, answer_.color}, console, [&](std::ostream& out) {
    report::WriteDiffHtml(report, out);
    return Ok();
  });
}

int DiffCommand::Run(Console& console) {
  const auto usage = [&](const Error& error) {
    console.err << fmt::format("hone: {}\n", Printable(error.message(), LocaleIsUtf8()));
    return kExitUsage;
  };
  const Result<std::vector<diff::Condition>> conditions = Conditions();
  if (!conditions) return usage(conditions.error());
  if (const int code = CheckOutputs({html_, answer_.output}, {before_, after_}, console);
      code != kExitFine)
    return code;
  Result<JobResult> before = RunJob(Job(before_), console);
  if (!before) return usage(before.error());
  Result<JobResult> after = RunJob(Job(after_), console);
  if (!after) return usage(after.error());
  if (before->report.inputs.empty() || after->report.inputs.empty()) return kExitUnreadable;

  report::DiffReport report;
  report.stable = stable_;
  report.before = Describe(before->report, before_, stable_);
  report.after = Describe(after->report, after_, stable_);
  const report::Input &a = before->report.leading(), &b = after->report.leading();
  report.diff = diff::Compare({a.trace, a.facts}, {b.trace, b.facts});
  bool failed = false;
  for (const diff::Condition& condition : *conditions) {
    report.gates.push_back(diff::Judge(condition, report.diff));
    failed = failed || report.gates.back().state == diff::GateState::kFailed;
  }
  const int written = Answer(report, console);
  if (written != kExitFine) return written;
  // Where the answer is for a program or a file, the log still says why the job failed.
  if (json_ || markdown_ || !answer_.output.empty()) {
    for (const diff::GateResult& gate : report.gates) {
      console.err << fmt::format("hone: {}\n", Printable(report::GateText(gate), LocaleIsUtf8()));
    }
  }
  // What was read in part was compared in part.
  const int read = std::max(before->code, after->code);
  return read != kExitFine ? read : failed ? kExitGate : kExitFine;
}

}  // namespace hone::cli
