// SPDX-License-Identifier: Apache-2.0
// What TAB offers at the prompt of hone sql.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone::cli {

// The word that the line ends with, which may be empty. A dot belongs to the word at the start of
// the line only (.schema).
std::string_view LastWord(std::string_view line);

// What may stand for it, sorted: dot commands at the start; behind "slice." the columns of that
// table (behind an alias those of every table the line names); else tables, views, columns of the
// tables that the line names, and keywords.
std::vector<std::string> CompleteSql(std::string_view line);

}  // namespace hone::cli
