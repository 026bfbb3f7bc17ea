// SPDX-License-Identifier: Apache-2.0
#include "cli/analyze_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/terminal.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/csv/csv_table.h"
#include "report/html/page.h"
#include "report/json/json_report.h"
#include "report/markdown/markdown_report.h"
#include "report/tables.h"
#include "report/text/critical_path_text.h"
#include "report/text/text_report.h"

namespace hone::cli {
namespace {

analyze::GroupBy ParseGroupBy(const std::string& word) {
  for (const analyze::GroupBy group_by :
       {analyze::GroupBy::kNameShape, analyze::GroupBy::kStack, analyze::GroupBy::kModule}) {
    if (word == report::GroupByName(group_by)) return group_by;
  }
  return analyze::GroupBy::kName;
}

bool Contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

const VerbInfo& AnalyzeCommand::info() const {
  static const VerbInfo kInfo = {
      "analyze",
      "say where the time of a recorded job goes, from its trace",
      "hone analyze TRACE... [options]",
      "Reads PyTorch profiler traces (.json, .json.gz, .json.zst) or Nsight Systems exports "
      "(.sqlite) and says where the time goes, why the device stands idle, and how far the "
      "numbers can be trusted. Several traces, or a directory, are the ranks of one job; the "
      "one that the others wait for leads, else the slowest.",
      {{"hone analyze trace.json.gz", "The answer on one screen."},
       {"hone analyze trace.json.gz --table ops --sort self_device --limit 30",
        "The 30 operators whose own kernels take most device time."},
       {"hone analyze ranks/ --json | jq '.ranks.skew'",
        "How far the ranks of a job drift apart, for a program."}},
      "Exit codes: 0 fine, 1 hone failed, 2 usage, 3 an input could not be read (in full). "
      "hone help inputs, trust, schema and exit-codes say more."};
  return kInfo;
}

void AnalyzeCommand::Declare(CLI::App& app) {
  app.add_option("TRACE", paths_, "trace files, or a directory of ranks")
      ->option_text("TRACE")
      ->required();

  std::vector<std::string> tables;
  for (const report::TableInfo& table : report::AllTables()) tables.push_back(table.name);
  CLI::Option* json = app.add_flag("--json", json_, "the whole answer as JSON (hone help schema)");
  CLI::Option* csv = app.add_flag(
      "--csv", csv_, "one table as CSV, all rows; kernels unless --table names another");
  CLI::Option* all = app.add_flag("--all", all_, "text: every section, not only the first screen");
  CLI::Option* path =
      app.add_flag("--critical-path", critical_path_, "what decides how long a step takes");
  CLI::Option* table =
      app.add_option("--table", table_, "one table")->option_text("NAME")->check(OneOf(tables));
  CLI::Option* markdown =
      app.add_flag("--markdown", markdown_, "the summary as Markdown, for a pull request");
  CLI::Option* html =
      app.add_option("--html", html_, "the report as one page for a browser (hone help report)")
          ->option_text("FILE");
  csv->excludes(json);
  all->excludes(json)->excludes(csv)->excludes(table);
  path->excludes(json)->excludes(csv)->excludes(table)->excludes(all);
  html->excludes(json)->excludes(csv)->excludes(table)->excludes(all)->excludes(path);
  for (CLI::Option* other : {json, csv, table, all, path, html}) markdown->excludes(other);
  for (CLI::Option* option : {json, csv, all, path, table, markdown, html}) {
    option->group("what to print");
  }
  app.add_option("--compat", compat_, "numbers by another tool's rules")
      ->option_text("TOOL")
      ->check(OneOf({"tracelens", "hta"}))
      ->expected(1)
      ->allow_extra_args(false)  // the word after it may be a file
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("what to print");

  app.add_option("--sort", sort_,
                 "column to sort --table by, largest first; -COLUMN turns it round")
      ->option_text("COLUMN")
      ->group("tables");
  app.add_flag("--reverse", reverse_, "the other way round")->group("tables");
  limit_option_ = app.add_option("--limit", limit_,
                                 "rows of a table, 0 for all; JSON and CSV have all unless given")
                      ->option_text("N")
                      ->default_str("20")
                      ->check(WholeNumber())
                      ->group("tables");
  app.add_option("--group-by", group_by_, "rows of kernels and ops")
      ->option_text("KEY")
      ->default_str("name")
      ->check(OneOf({"name", "shape", "stack", "module"}))
      ->group("tables");

  app.add_option("--rank", rank_,
                 "the rank that leads; without it the one that others wait for, else the slowest")
      ->option_text("N")
      ->check(WholeNumber())
      ->group("other");
  DeclareAnswer(app, answer_);
  app.add_flag("--quiet", quiet_, "no progress bar")->group("other");
  app.add_flag("--stable", stable_, "leave out folders, clock and version, for comparing output")
      ->group("other");
}

Status AnalyzeCommand::Check() {
  if (table_.rfind("tracelens", 0) == 0 && !Contains(compat_, "tracelens")) {
    compat_.emplace_back("tracelens");
  }
  if (table_.rfind("hta", 0) == 0 && !Contains(compat_, "hta")) compat_.emplace_back("hta");
  if (table_.empty() && csv_) {
    table_ = compat_.empty()       ? "kernels"
             : compat_[0] == "hta" ? "hta-breakdown"
                                   : "tracelens-kernels";
  }
  if (table_.empty() && !sort_.empty()) {
    return Error("--sort needs --table, to know what to sort; try --table ops");
  }
  return Ok();
}

JobOptions AnalyzeCommand::Job() const {
  JobOptions job;
  job.paths = paths_;
  job.group_by = ParseGroupBy(group_by_);
  job.rank = rank_;
  job.tracelens = Contains(compat_, "tracelens");
  job.hta = Contains(compat_, "hta");
  job.stable = stable_;
  job.quiet = quiet_;
  // One table of numbers needs no doctor.
  job.diagnose = json_ || table_.empty() || table_ == "findings" || table_ == "critical-path";
  return job;
}

// People get a screenful, programs get everything, unless they say so.
report::TableShape AnalyzeCommand::ShapeOf(bool everything) const {
  report::TableShape shape{sort_, reverse_};
  const bool given = limit_option_->count() > 0;
  if (limit_ > 0 && (given || !everything)) shape.limit = static_cast<std::size_t>(limit_);
  return shape;
}

Status AnalyzeCommand::WriteOneTable(const report::Report& report, const report::Style& style,
                                     std::ostream& out, Console& console) const {
  Known<report::Table> table = report::FindTable(table_)->build(report);
  if (table) {
    report::TableShape shape = ShapeOf(csv_);
    if (!csv_ && shape.sort.empty()) shape.sort = table->text_order;
    HONE_RETURN_IF_ERROR(Shape(*table, shape));
  }
  if (!csv_) {
    report::WriteTextTable(table, table_, style, out);
  } else if (table) {
    report::WriteCsv(*table, out);
  } else {
    console.err << fmt::format("hone: {}: {}\n", table_, Printable(table.why_not(), style.utf8));
  }
  return Ok();
}

Status AnalyzeCommand::Write(const report::Report& report, const report::Style& style,
                             std::ostream& out, Console& console) const {
  if (json_) return report::WriteJson(report, {table_, ShapeOf(true)}, out);
  if (markdown_) {
    report::WriteMarkdown(report, out);
    return Ok();
  }
  if (!table_.empty()) return WriteOneTable(report, style, out, console);
  if (critical_path_) {
    report::WriteCriticalPath(report, style, out);
    return Ok();
  }
  if (!compat_.empty() && !all_) {
    for (const report::TableInfo& info : report::AllTables()) {
      const std::size_t dash = info.name.find('-');
      if (dash == std::string::npos || !Contains(compat_, info.name.substr(0, dash))) continue;
      Known<report::Table> table = info.build(report);
      if (table) {
        HONE_RETURN_IF_ERROR(Shape(*table, ShapeOf(false)));
      }
      report::WriteTextTable(table, info.name, style, out);
      out << '\n';
    }
    return Ok();
  }
  report::WriteText(report, {style, all_, static_cast<std::size_t>(limit_)}, out);
  return Ok();
}

int AnalyzeCommand::WriteHtml(const report::Report& report, Console& console) const {
  std::string command = "hone analyze";
  for (const std::filesystem::path path : paths_) {
    command += " " + (stable_ ? path.filename() : path).string();
  }
  const bool to_file = html_ != "-";
  const int written = WriteAnswer({to_file ? html_ : ""}, console, [&](std::ostream& out) {
    return report::WritePage(report, {command}, out);
  });
  if (written != kExitFine || quiet_ || !to_file) return written;
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(html_, error);
  console.err << fmt::format(
      "hone: wrote {}{}\n", Printable(html_, LocaleIsUtf8()),
      error ? "" : fmt::format(" ({})", HumanBytes(static_cast<double>(bytes))));
  return written;
}

int AnalyzeCommand::Run(Console& console) {
  const Status checked = Check();
  if (!checked) {
    console.err << fmt::format("hone: {}\n", checked.error().message());
    return kExitUsage;
  }
  const std::string page = html_ == "-" ? "" : html_;
  if (const int code = CheckOutputs({page, answer_.output}, paths_, console); code != kExitFine)
    return code;
  Result<JobResult> job = RunJob(Job(), console);
  if (!job) {
    console.err << fmt::format("hone: {}\n", job.error().message());
    return kExitUsage;
  }
  if (job->report.inputs.empty()) return job->code;
  if (!html_.empty()) {
    const int written = WriteHtml(job->report, console);
    return written == kExitFine ? job->code : written;
  }
  const int written = WriteAnswer(answer_, console, [&](std::ostream& out) {
    return Write(job->report, StyleFor(answer_, console), out, console);
  });
  return written == kExitFine ? job->code : written;
}

}  // namespace hone::cli
