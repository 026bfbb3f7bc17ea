// SPDX-License-Identifier: Apache-2.0
#include "export/sql_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

#include "base/lower_case.h"
#include "base/text.h"
#include "base/utf8.h"
#include "export/sql_schema.h"

namespace hone::exporter {
namespace {

bool IsWordByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0;
}

// The words of a query, lower case.
std::vector<std::string> WordsOf(std::string_view sql) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < sql.size();) {
    std::size_t end = at;
    while (end < sql.size() && IsWordByte(sql[end])) ++end;
    if (end > at) words.push_back(LowerCase(sql.substr(at, end - at)));
    at = std::max(end, at + 1);
  }
  return words;
}

std::vector<std::string> TableNames() {
  std::vector<std::string> names;
  for (const SqlTable& table : AllSqlTables()) names.emplace_back(table.name);
  for (const SqlView& view : AllSqlViews()) names.emplace_back(view.name);
  return names;
}

// Columns of the tables that the query names; of all tables when it names none.
std::vector<std::string> ColumnNames(std::string_view sql) {
  const std::vector<std::string> words = WordsOf(sql);
  std::vector<std::string> named, all;
  const auto add = [&](const char* table, const char* column) {
    all.emplace_back(column);
    if (std::find(words.begin(), words.end(), table) != words.end()) named.emplace_back(column);
  };
  for (const SqlTable& table : AllSqlTables()) {
    for (const SqlColumn& column : table.columns) add(table.name, column.name);
  }
  for (const SqlView& view : AllSqlViews()) {
    for (const auto& [column, what] : view.columns) add(view.name, column);
  }
  return named.empty() ? all : named;
}

// Where `word` stands in `sql` as a word of its own; npos: nowhere.
std::size_t FindWord(std::string_view sql, std::string_view word) {
  if (word.empty()) return std::string_view::npos;
  for (std::size_t at = sql.find(word); at != std::string_view::npos; at = sql.find(word, at + 1)) {
    const bool starts = at == 0 || !IsWordByte(sql[at - 1]);
    const std::size_t end = at + word.size();
    if (starts && (end == sql.size() || !IsWordByte(sql[end]))) return at;
  }
  return std::string_view::npos;
}

// " at character 8", " at line 2, character 3"; empty when the place is not known.
std::string PlaceOf(std::string_view sql, std::size_t offset) {
  if (offset > sql.size()) return "";
  const std::string_view before = sql.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::string_view own = start == std::string_view::npos ? before : before.substr(start + 1);
  std::size_t character = 1;
  for (std::size_t at = 0; at < own.size(); at += DecodeUtf8(own, at).size) ++character;
  const bool several =
      sql.substr(0, sql.find_last_not_of(" \t\r\n") + 1).find('\n') != std::string_view::npos;
  return several ? fmt::format(" at line {}, character {}", line, character)
                 : fmt::format(" at character {}", character);
}

std::optional<std::string_view> After(std::string_view message, std::string_view prefix) {
  if (!message.starts_with(prefix)) return std::nullopt;
  return message.substr(prefix.size());
}

std::string Meant(std::string_view word, const std::vector<std::string>& candidates,
                  const char* otherwise) {
  const auto nearest = NearestSpelling(LowerCase(word), candidates);
  return nearest ? fmt::format("did you mean {}?", *nearest) : otherwise;
}

// The statement's own word ("DROP"): SQLite asks about its steps, the first of which is a DELETE. A
// query that was refused calls what it may not.
std::string Refused(std::string_view statement, std::string_view denied) {
  const std::vector<std::string> words = WordsOf(statement);
  std::string word = words.empty() ? "" : words[0];
  if (word.empty() || word == "select" || word == "with") return std::string(denied);
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return word;
}

}  // namespace

std::string ExplainSqlError(std::string_view sql, std::size_t start, std::string_view message,
                            int offset, std::string_view denied) {
  if (!denied.empty() || message.ends_with("may not be modified")) {
    return fmt::format("{}: hone sql only reads; hone export --to sqlite writes a file to change",
                       Refused(sql.substr(start), denied));
  }
  const auto place = [&](std::string_view word) {
    const std::size_t at =
        offset >= 0 ? static_cast<std::size_t>(offset) : FindWord(sql.substr(start), word);
    return at == std::string_view::npos ? std::string() : PlaceOf(sql, start + at);
  };
  if (const auto table = After(message, "no such table: ")) {
    return fmt::format("no table {}{}; {}", *table, place(*table),
                       Meant(*table, TableNames(), "hone help sql lists the tables"));
  }
  if (const auto column = After(message, "no such column: ")) {
    const std::size_t dot = column->rfind('.');
    const std::string_view word = dot == std::string_view::npos ? *column : column->substr(dot + 1);
    return fmt::format("no column {}{}; {}", *column, place(word),
                       Meant(word, ColumnNames(sql), ".schema TABLE lists the columns"));
  }
  if (const auto function = After(message, "no such function: ")) {
    return fmt::format("no function {}{}; sqlite.org/lang_corefunc.html lists them", *function,
                       place(*function));
  }
  if (message == "incomplete input") {
    return fmt::format("the query ends too early{}; a word or a bracket is missing",
                       PlaceOf(sql, sql.size()));
  }
  if (message.ends_with("syntax error") && offset >= 0) {
    const std::size_t first = message.find('"'), last = message.rfind('"');
    const std::string_view near = last > first ? message.substr(first + 1, last - first - 1) : "";
    return fmt::format("syntax error at {}{}; sqlite.org/lang_select.html has the grammar", near,
                       place(near));
  }
  return fmt::format("{}{}; hone help sql has examples", message,
                     offset >= 0 ? place("") : std::string());
}

}  // namespace hone::exporter
