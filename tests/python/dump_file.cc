// SPDX-License-Identifier: Apache-2.0
// Prints the rows of a .hone file for tests: TABLE, then its columns, a tab between; tabs, line
// ends and backslashes in texts are escaped.
#include <cstdio>
#include <string>
#include <string_view>

#include "wire/file_reader.h"
#include "wire/table.h"

namespace {

using hone::wire::Encoding;

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

void PrintRow(const hone::wire::Chunk& chunk, const hone::wire::TableSpec& table,
              std::uint32_t row) {
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FILE.hone\n", argv[0]);
    return 2;
  }
  auto reader = hone::wire::FileReader::Open(argv[1]);
  if (!reader) {
    std::fprintf(stderr, "%s\n", reader.error().message().c_str());
    return 3;
  }
  hone::wire::Chunk chunk;
  while (reader->Next(chunk)) {
    for (const hone::wire::TableSpec& table : hone::wire::kTables) {
      if (chunk.table() != table.name) continue;
      for (std::uint32_t row = 0; row < chunk.rows(); ++row) PrintRow(chunk, table, row);
    }
  }
  return 0;
}
