// SPDX-License-Identifier: Apache-2.0
#include "cli/sql_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/lower_case.h"
#include "base/terminal.h"
#include "base/utf8.h"
#include "cli/job.h"
#include "cli/sql_prompt.h"
#include "cli/sql_session.h"
#include "export/sql_database.h"

namespace hone::cli {
namespace {

// Rows of an answer at the prompt: a screen or two; .limit changes it.
constexpr std::size_t kPromptLimit = 50;

// What a statement begins with, those that will be refused too.
constexpr std::string_view kStarts[] = {
    "select", "with", "explain", "values", "pragma", "insert", "replace", "update",  "delete",
    "create", "drop", "alter",   "attach", "detach", "vacuum", "analyze", "reindex", "begin"};
constexpr std::string_view kTraceEndings[] = {".json", ".gz", ".zst", ".sqlite", ".hone"};

// Whether the last word asks something: a statement, or a dot command. A file of that name wins. A
// misspelt statement has blanks; so may a path, but that of a trace has its ending.
bool IsQuery(const std::string& word) {
  std::error_code ignored;
  if (std::filesystem::exists(word, ignored)) return false;
  const auto is_one_of = [](std::string_view text, const auto& words) {
    return std::find(std::begin(words), std::end(words), text) != std::end(words);
  };
  if (word.starts_with('.') && word.find('/') == std::string::npos) return true;
  std::string start;
  for (std::size_t at = word.find_first_not_of(" \t\r\n("); at < word.size(); ++at) {
    if (std::isalpha(static_cast<unsigned char>(word[at])) == 0) break;
    start += LowerCase(word[at]);
  }
  if (is_one_of(start, kStarts) && start.size() < word.size()) return true;
  const bool named = std::any_of(std::begin(kTraceEndings), std::end(kTraceEndings),
                                 [&](std::string_view ending) { return word.ends_with(ending); });
  return word.find_first_of(" \n\t") != std::string::npos && !named;
}

exporter::SqlRanks RanksOf(const report::Report& report, bool all) {
  exporter::SqlRanks ranks;
  exporter::SqlRankNumbers numbers;
  exporter::SqlRank::Counts before{};
  for (std::size_t i = 0; i < report.inputs.size(); ++i) {
    if (!all && i != report.lead) continue;
    const report::Input& input = report.inputs[i];
    ranks.push_back(std::make_unique<exporter::SqlRank>(
        input.trace, input.facts, numbers.Next(input.trace.info.rank), before));
    before = ranks.back()->Behind();
  }
  return ranks;
}

}  // namespace

const VerbInfo& SqlCommand::info() const {
  static const VerbInfo kInfo = {
      "sql",
      "ask a trace anything, in SQL",
      "hone sql TRACE... [QUERY] [options]",
      "Answers SQL over the rows of a trace: slices, device work, steps, idle gaps, memory, "
      "samples. "
      "The query is the last word, a file (-f) or stdin; without one, on a terminal, there is a "
      "prompt. Nothing is written: queries can only read. Several traces are ranks of one job and "
      "share the tables; the column rank tells them apart.",
      {{"hone sql trace.json.gz \"select * from ops limit 10\"",
        "The operators whose kernels take most device time."},
       {"hone sql trace.json.gz \"select cause, sum(ms) from gaps group by 1\" --csv",
        "Why the device stood idle, for a spreadsheet."},
       {"hone sql ranks/ \"select rank, avg(ms) from per_step group by rank\"",
        "The mean step of each rank."},
       {"hone sql trace.json.gz .schema", "Every table, view and column, with what it holds."}},
      "Exit codes: 0 fine, 1 hone failed, 2 usage or an error in the query, 3 an input could not "
      "be "
      "read (in full). hone help sql lists the tables and answers the usual questions."};
  return kInfo;
}

void SqlCommand::Declare(CLI::App& app) {
  app.add_option("TRACE", words_,
                 "trace files, or a directory of ranks; the last word may be a query")
      ->option_text("TRACE")
      ->required();
  app.add_option("-f,--file", file_, "take the query from a file")
      ->option_text("FILE")
      ->group("what to ask");
  CLI::Option* json = app.add_flag("--json", json_, "rows as a JSON array of objects");
  CLI::Option* csv = app.add_flag("--csv", csv_, "rows as CSV");
  CLI::Option* markdown = app.add_flag("--markdown", markdown_, "rows as a Markdown table");
  csv->excludes(json);
  markdown->excludes(json)->excludes(csv);
  for (CLI::Option* option : {json, csv, markdown}) option->group("what to print");
  app.add_option("--limit", limit_, "rows shown, 0 for all (the prompt shows 50)")
      ->option_text("N")
      ->default_str("0")
      ->check(WholeNumber())
      ->group("what to print");
  app.add_option("--rank", rank_, "read this rank only")
      ->option_text("N")
      ->check(WholeNumber())
      ->group("other");
  DeclareAnswer(app, answer_);
  app.add_flag("--quiet", quiet_, "no progress")->group("other");
}

Result<std::string> SqlCommand::FindQuery() {
  const auto all = [](std::istream& in) {
    return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  };
  const bool has_word = words_.size() > 1 && IsQuery(words_.back());
  if (!file_.empty()) {
    if (has_word) return Error("-f and a query exclude each other; drop one");
    std::ifstream in(file_, std::ios::binary);
    std::string text = in ? all(in) : "";
    if (!in || text.empty()) {
      return Error(fmt::format("{}: no query can be read from it: {}",
                               Printable(file_, LocaleIsUtf8()),
                               in ? "the file is empty" : std::strerror(errno)));
    }
    return text;
  }
  if (has_word) {
    std::string query = words_.back();
    words_.pop_back();
    return query;
  }
  if (IsTerminal(STDIN_FILENO)) return std::string();
  return all(std::cin);
}

SqlOutputOptions SqlCommand::Output(const Console& console, bool interactive) const {
  SqlOutputOptions output;
  output.mode = json_       ? SqlMode::kJson
                : csv_      ? SqlMode::kCsv
                : markdown_ ? SqlMode::kMarkdown
                            : SqlMode::kTable;
  output.limit = limit_ > 0 ? static_cast<std::size_t>(limit_) : interactive ? kPromptLimit : 0;
  output.style = StyleFor(answer_, console);
  const int fd = answer_.output.empty() ? console.out_fd : -1;
  // A row of a query is as wide as the user made it: the whole terminal, and no less in a file.
  const std::size_t columns = TerminalWidth(fd);
  output.style.width = columns == 0 ? 200 : std::max<std::size_t>(columns, output.style.width);
  output.interactive = interactive;
  return output;
}

int SqlCommand::Run(Console& console) {
  const auto wrong = [&](const std::string& message) {
    console.err << fmt::format("hone: {}\n", Printable(message, LocaleIsUtf8()));
    return kExitUsage;
  };
  const Result<std::string> query = FindQuery();
  if (!query) return wrong(query.error().message());
  const bool blank = query->find_first_not_of(" \t\r\n;") == std::string::npos;
  const bool interactive = query->empty() && IsTerminal(STDIN_FILENO) && IsTerminal(console.out_fd);
  if (blank && !interactive) {
    return wrong("no query; try hone sql TRACE \"select * from ops limit 10\"");
  }
  JobOptions options;
  options.paths = words_;
  options.rank = rank_;
  options.quiet = quiet_;
  options.diagnose = false;
  options.keep_rows = rank_ < 0;
  if (const int code = CheckOutputs({answer_.output}, options.paths, console); code != kExitFine) {
    return code;
  }
  Result<JobResult> job = RunJob(options, console);
  if (!job) return wrong(job.error().message());
  if (job->report.inputs.empty()) return job->code;
  auto database = exporter::SqlDatabase::Open(RanksOf(job->report, rank_ < 0));
  if (!database) {
    wrong(database.error().message());
    return kExitFailed;
  }
  const bool progress = !quiet_ && IsTerminal(console.err_fd);
  SqlSession session(**database, Output(console, interactive), console, progress);
  if (interactive) {
    RunSqlPrompt(session, console);
    return job->code;
  }
  const int written =
      WriteAnswer(answer_, console, [&](std::ostream& out) { return session.Run(*query, out); });
  return written == kExitFine ? job->code : written;
}

}  // namespace hone::cli
