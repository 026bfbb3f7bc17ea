// SPDX-License-Identifier: Apache-2.0
#include "cli/sql_complete.h"

#include <algorithm>
#include <cctype>

#include "base/lower_case.h"
#include "cli/sql_session.h"
#include "export/sql_schema.h"

namespace hone::cli {
namespace {

constexpr const char* kKeywords[] = {
    "and",   "as",   "asc",   "avg",    "between", "by",    "case", "count", "desc",  "distinct",
    "else",  "end",  "from",  "group",  "having",  "in",    "is",   "join",  "left",  "like",
    "limit", "max",  "min",   "not",    "null",    "on",    "or",   "order", "round", "select",
    "sum",   "then", "union", "values", "when",    "where", "with"};

bool IsWordByte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view WordBefore(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && IsWordByte(text[begin - 1])) --begin;
  return text.substr(begin);
}

bool Names(std::string_view line, std::string_view table) {
  for (std::size_t at = line.find(table); at != std::string_view::npos;
       at = line.find(table, at + 1)) {
    const std::size_t end = at + table.size();
    if ((at == 0 || !IsWordByte(line[at - 1])) && (end == line.size() || !IsWordByte(line[end]))) {
      return true;
    }
  }
  return false;
}

// Columns of the tables for which `wanted` holds.
template <typename Wanted>
void AddColumns(const Wanted& wanted, std::vector<std::string>& words) {
  for (const exporter::SqlTable& table : exporter::AllSqlTables()) {
    if (!wanted(table.name)) continue;
    for (const exporter::SqlColumn& column : table.columns) words.emplace_back(column.name);
  }
  for (const exporter::SqlView& view : exporter::AllSqlViews()) {
    if (!wanted(view.name)) continue;
    for (const auto& [column, what] : view.columns) words.emplace_back(column);
  }
}

bool StartsWith(std::string_view word, std::string_view typed) {
  if (word.size() < typed.size()) return false;
  return std::equal(typed.begin(), typed.end(), word.begin(),
                    [](char a, char b) { return LowerCase(a) == LowerCase(b); });
}

}  // namespace

std::string_view LastWord(std::string_view line) {
  const std::string_view word = WordBefore(line);
  const std::size_t before = line.size() - word.size();
  const bool dot = before > 0 && line[before - 1] == '.' &&
                   line.substr(0, before - 1).find_first_not_of(" \t") == std::string_view::npos;
  return dot ? line.substr(before - 1) : word;
}

std::vector<std::string> CompleteSql(std::string_view line) {
  const std::string_view typed = LastWord(line);
  const std::string_view before = line.substr(0, line.size() - typed.size());
  std::vector<std::string> words;
  if (typed.starts_with('.')) {
    words = SqlSession::DotCommands();
  } else if (before.ends_with('.')) {
    const std::string_view owner = WordBefore(before.substr(0, before.size() - 1));
    AddColumns([&](std::string_view table) { return table == owner; }, words);
    if (words.empty()) {
      AddColumns([&](std::string_view table) { return Names(before, table); }, words);
    }
    if (words.empty()) AddColumns([](std::string_view) { return true; }, words);
  } else {
    for (const exporter::SqlTable& table : exporter::AllSqlTables()) words.emplace_back(table.name);
    for (const exporter::SqlView& view : exporter::AllSqlViews()) words.emplace_back(view.name);
    AddColumns([&](std::string_view table) { return Names(before, table); }, words);
    words.insert(words.end(), std::begin(kKeywords), std::end(kKeywords));
  }
  std::erase_if(words, [&](const std::string& word) { return !StartsWith(word, typed); });
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

}  // namespace hone::cli
