// SPDX-License-Identifier: Apache-2.0
#include "cli/sql_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/terminal.h"
#include "base/text.h"
#include "base/utf8.h"
#include "export/sql_schema.h"

namespace hone::cli {
namespace {

using namespace std::chrono_literals;

struct DotCommand {
  const char* name;
  const char* argument;
  const char* what;
};

constexpr DotCommand kDotCommands[] = {
    {".tables", "", "the tables and views, one line each"},
    {".schema", "[TABLE]", "columns of a table or view, or of all"},
    {".mode", "table|json|csv|markdown", "how rows are shown"},
    {".limit", "N", "rows shown, 0 for all"},
    {".help", "", "this list"},
    {".quit", "", "end; Ctrl-D too"},
};

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n;") + 1 - first);
}

std::vector<std::string> TableNames() {
  std::vector<std::string> names;
  for (const exporter::SqlTable& table : exporter::AllSqlTables()) names.emplace_back(table.name);
  for (const exporter::SqlView& view : exporter::AllSqlViews()) names.emplace_back(view.name);
  return names;
}

std::string Tables() {
  std::string text = "tables\n";
  for (const exporter::SqlTable& table : exporter::AllSqlTables()) {
    text += fmt::format("  {:<18}{}\n", table.name, table.what);
  }
  text += "views\n";
  for (const exporter::SqlView& view : exporter::AllSqlViews()) {
    text += fmt::format("  {:<18}{}\n", view.name, view.what);
  }
  return text;
}

std::string Help() {
  std::string text;
  for (const DotCommand& command : kDotCommands) {
    const std::string name = fmt::format("{} {}", command.name, command.argument);
    text += fmt::format("{:<32}{}\n", name, command.what);
  }
  return text +
         "Anything else is SQL and ends with ;. TAB completes names, Ctrl-C stops a query.\n";
}

}  // namespace

SqlSession::SqlSession(exporter::SqlDatabase& database, const SqlOutputOptions& output,
                       Console& console, bool progress)
    : database_(database), output_(output), console_(console), progress_(progress) {
  if (progress_) database_.OnProgress([this] { ShowProgress(); });
}

bool SqlSession::IsDotCommand(std::string_view text) {
  const std::string_view trimmed = Trimmed(text);
  const std::string_view word = trimmed.substr(0, trimmed.find_first_of(" \t\r\n"));
  return std::any_of(std::begin(kDotCommands), std::end(kDotCommands),
                     [&](const DotCommand& command) { return word == command.name; });
}

std::vector<std::string> SqlSession::DotCommands() {
  std::vector<std::string> names;
  for (const DotCommand& command : kDotCommands) names.emplace_back(command.name);
  return names;
}

Status SqlSession::Run(std::string_view text, std::ostream& out) {
  if (Trimmed(text).starts_with('.')) return RunDot(Trimmed(text), out);
  bool any = false;
  std::size_t at = 0;
  while (true) {
    auto statement = database_.Prepare(text, at);
    if (!statement) return std::move(statement).error();
    if (!statement->has_value()) return Ok();
    if (any && output_.mode != SqlMode::kJson) out << '\n';
    any = true;
    HONE_RETURN_IF_ERROR(RunStatement(**statement, out));
  }
}

Status SqlSession::RunStatement(exporter::SqlStatement& statement, std::ostream& out) {
  started_ = Clock::now();
  rows_ = 0;
  const std::unique_ptr<SqlOutput> output = SqlOutput::Make(output_, statement.columns(), out);
  std::uint64_t left_out = 0;
  while (true) {
    Result<bool> row = statement.Step();
    if (!row || !*row) EraseProgress();
    if (!row) {
      // What was found so far stands; JSON stays valid.
      if (database_.interrupted()) output->Finish(0);
      return std::move(row).error();
    }
    if (!*row) break;
    ++rows_;
    if (output_.mode != SqlMode::kTable) EraseProgress();
    if (output_.limit > 0 && rows_ > output_.limit) {
      ++left_out;
    } else {
      output->Add(statement);
    }
  }
  output->Finish(left_out);
  return Ok();
}

Status SqlSession::RunDot(std::string_view text, std::ostream& out) {
  const std::size_t blank = text.find_first_of(" \t\r\n");
  const std::string word(text.substr(0, blank));
  const std::string argument(blank == std::string_view::npos ? std::string_view()
                                                             : Trimmed(text.substr(blank)));
  const std::string shown = Printable(argument, output_.style.utf8);
  if (word == ".tables") {
    out << Tables();
  } else if (word == ".help") {
    out << Help();
  } else if (word == ".quit" || word == ".exit") {
    done_ = true;
  } else if (word == ".schema") {
    const std::string schema = exporter::SqlSchemaText(argument);
    if (schema.empty()) {
      const auto nearest = NearestSpelling(argument, TableNames());
      return Error(fmt::format("no table {}; {}", shown,
                               nearest ? "did you mean " + *nearest + "?" : ".tables lists them"));
    }
    out << schema;
  } else if (word == ".mode") {
    const auto* mode = std::find(std::begin(kSqlModes), std::end(kSqlModes), argument);
    if (mode == std::end(kSqlModes)) {
      return Error(fmt::format("no mode {}; one of table, json, csv, markdown", shown));
    }
    output_.mode = static_cast<SqlMode>(mode - std::begin(kSqlModes));
  } else if (word == ".limit") {
    std::size_t limit = 0;
    const char* end = argument.data() + argument.size();
    const auto parsed = std::from_chars(argument.data(), end, limit);
    if (argument.empty() || parsed.ec != std::errc() || parsed.ptr != end) {
      return Error(fmt::format("{} is not a whole number of 0 or more; .limit 100 shows 100 rows",
                               shown.empty() ? "nothing" : shown));
    }
    output_.limit = limit;
  } else {
    const auto nearest = NearestSpelling(word, DotCommands());
    return Error(fmt::format("no command {}; {}", Printable(word, output_.style.utf8),
                             nearest ? "did you mean " + *nearest + "?" : ".help lists them"));
  }
  return Ok();
}

void SqlSession::ShowProgress() {
  const Clock::time_point now = Clock::now();
  if (now - started_ < 1s || now - shown_ < 200ms) return;
  // Rows that are on the terminal already are not written over.
  if (rows_ > (output_.mode == SqlMode::kTable ? SqlOutput::kMostKept : 0) &&
      IsTerminal(console_.out_fd)) {
    EraseProgress();
    return;
  }
  shown_ = now;
  visible_ = true;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - started_).count();
  console_.err << fmt::format("\r\033[K{} s, {} so far; Ctrl-C stops the query", seconds,
                              Count(rows_, "row"))
               << std::flush;
}

void SqlSession::EraseProgress() {
  if (!visible_) return;
  visible_ = false;
  console_.err << "\r\033[K" << std::flush;
}

}  // namespace hone::cli
