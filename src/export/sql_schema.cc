// SPDX-License-Identifier: Apache-2.0
#include "export/sql_schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace hone::exporter {
namespace {

std::vector<SqlTable> MakeAll() {
  std::vector<SqlTable> tables;
  AddTraceTables(tables);
  AddHostTables(tables);
  AddDeviceTables(tables);
  AddSampleTables(tables);
  HONE_CHECK(tables.size() == kSqlTableCount);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    HONE_CHECK(static_cast<std::size_t>(tables[i].id) == i);
  }
  return tables;
}

bool SameName(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

std::string DescribeTable(const SqlTable& table) {
  std::string text = fmt::format("-- {}\nCREATE TABLE {}(\n", table.what, table.name);
  for (const SqlColumn& column : table.columns) {
    const bool last = &column == &table.columns.back();
    text +=
        fmt::format("  {:<30} -- {}\n",
                    fmt::format("{} {}{}", column.name, SqlTypeName(column.type), last ? "" : ","),
                    column.what);
  }
  return text + ");\n";
}

std::string DescribeView(const SqlView& view) {
  std::string text = fmt::format("-- {}\n", view.what);
  for (const auto& [name, what] : view.columns) text += fmt::format("--   {:<16} {}\n", name, what);
  return text + SqlViewText(view) + ";\n";
}

}  // namespace

std::size_t SqlTable::FindColumn(std::string_view column) const {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const SqlColumn& candidate) {
    return SameName(candidate.name, column);
  });
  return static_cast<std::size_t>(found - columns.begin());
}

std::span<const SqlTable> AllSqlTables() {
  static const std::vector<SqlTable> kTables = MakeAll();
  return kTables;
}

const SqlTable& SqlTableOf(SqlTableId id) { return AllSqlTables()[static_cast<std::size_t>(id)]; }

const char* SqlTypeName(SqlType type) {
  switch (type) {
    case SqlType::kInteger: return "INTEGER";
    case SqlType::kReal: return "REAL";
    case SqlType::kText: return "TEXT";
  }
  return "";
}

std::string SqlColumnList(const SqlTable& table, bool primary_key) {
  std::string list;
  for (const SqlColumn& column : table.columns) {
    if (!list.empty()) list += ", ";
    list += fmt::format("{} {}", column.name, SqlTypeName(column.type));
    if (primary_key && &column == &table.columns.front()) list += " PRIMARY KEY";
  }
  return list;
}

std::string SqlViewText(const SqlView& view) {
  return fmt::format("CREATE VIEW {} AS\n{}", view.name, view.select);
}

std::string SqlSchemaText(std::string_view name) {
  std::string text;
  const auto add = [&](std::string one) {
    if (!text.empty()) text += '\n';
    text += one;
  };
  for (const SqlTable& table : AllSqlTables()) {
    if (name.empty() || SameName(name, table.name)) add(DescribeTable(table));
  }
  for (const SqlView& view : AllSqlViews()) {
    if (name.empty() || SameName(name, view.name)) add(DescribeView(view));
  }
  return text;
}

}  // namespace hone::exporter
