// SPDX-License-Identifier: Apache-2.0
// Prints rows of .hone files, for tests: hone_rows FOLDER|FILE [TABLE [COLUMN…]]
//
// One line a row, columns in the order asked for. @column: a name, looked up. ?column=value: rows
// with that value only. TABLE#: their number. Several files: one after the other, by name.
// Without a table: every row, its table's name first, all columns with tabs between; tabs, line
// ends and backslashes in texts are escaped.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wire/file_reader.h"
#include "wire/table.h"

namespace {

using hone::wire::Chunk;
using hone::wire::Encoding;

std::string Cell(const Chunk& chunk, std::uint32_t row, const std::string& column,
                 const std::map<std::int64_t, std::string>& names) {
  const bool name = column[0] == '@';
  const std::string key = name ? column.substr(1) : column;
  if (const auto texts = chunk.Texts(key); !texts.empty()) return std::string(texts[row]);
  if (const auto doubles = chunk.Doubles(key); !doubles.empty()) {
    char text[64];
    std::snprintf(text, sizeof text, "%g", doubles[row]);
    return text;
  }
  const auto integers = chunk.Integers(key);
  if (integers.empty()) return "?";
  if (!name) return std::to_string(integers[row]);
  const auto found = names.find(integers[row]);
  return found == names.end() ? "(none)" : found->second;
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\t') {
      out += "\\t";
    } else if (letter == '\n') {
      out += "\\n";
    } else if (letter == '\\') {
      out += "\\\\";
    } else {
      out += letter;
    }
  }
  return out;
}

void PrintRow(const Chunk& chunk, const hone::wire::TableSpec& table, std::uint32_t row) {
  std::string line = table.name;
  for (const hone::wire::ColumnSpec& column : table.columns) {
    line += '\t';
    if (column.encoding == Encoding::kText) {
      const auto texts = chunk.Texts(column.name);
      if (row < texts.size()) line += Escaped(texts[row]);
    } else if (column.encoding == Encoding::kDouble) {
      const auto doubles = chunk.Doubles(column.name);
      line += std::to_string(row < doubles.size() ? doubles[row] : 0.0);
    } else {
      const auto integers = chunk.Integers(column.name);
      line += std::to_string(row < integers.size() ? integers[row] : 0);
    }
  }
  std::puts(line.c_str());
}

void PrintAll(const Chunk& chunk) {
  for (const hone::wire::TableSpec& table : hone::wire::kTables) {
    if (chunk.table() != table.name) continue;
    for (std::uint32_t row = 0; row < chunk.rows(); ++row) PrintRow(chunk, table, row);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  std::vector<std::string> files;
  if (std::filesystem::is_directory(arguments[1])) {
    for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) {
      if (entry.path().extension() == ".hone") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
  } else {
    files.emplace_back(arguments[1]);
  }
  std::string table = count > 2 ? arguments[2] : "";
  const bool count_only = table.ends_with('#');
  if (count_only) table.pop_back();
  std::uint64_t rows = 0;
  for (const std::string& file : files) {
    auto reader = hone::wire::FileReader::Open(file);
    if (!reader) {
      std::fprintf(stderr, "%s\n", reader.error().message().c_str());
      return 3;
    }
    std::map<std::int64_t, std::string> names;
    Chunk chunk;
    while (reader->Next(chunk)) {
      if (chunk.table() == "strings") {
        for (std::uint32_t i = 0; i < chunk.rows(); ++i) {
          names[chunk.Integers("id")[i]] = std::string(chunk.Texts("text")[i]);
        }
      }
      if (table.empty()) PrintAll(chunk);
      if (chunk.table() != table) continue;
      for (std::uint32_t i = 0; i < chunk.rows(); ++i) {
        std::string line;
        bool wanted = true;
        for (int c = 3; c < count; ++c) {
          const std::string column = arguments[c];
          if (column[0] == '?') {
            const std::size_t equals = column.find('=');
            wanted &=
                Cell(chunk, i, column.substr(1, equals - 1), names) == column.substr(equals + 1);
            continue;
          }
          line += (line.empty() ? "" : " ") + Cell(chunk, i, column, names);
        }
        if (!wanted) continue;
        ++rows;
        if (!count_only) std::printf("%s\n", line.c_str());
      }
    }
    if (reader->damage().chunks > 0) std::printf("damage: %s\n", reader->damage().first.c_str());
  }
  if (count_only) std::printf("%llu\n", static_cast<unsigned long long>(rows));
  return 0;
}
