// SPDX-License-Identifier: Apache-2.0
// StringTable: the file's StringIds. Exports keep whole logs and symbol tables there, so a string
// enters the trace's pool only when a row names it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_pool.h"
#include "import/nsys/database.h"

namespace hone::importer::nsys {

class StringTable {
 public:
  void Load(Database& database);

  // The text of a name column: an id of this table, or the text itself where an export has text.
  // Valid until the next row. Empty: no name.
  std::string_view Resolve(const Row& row, int column) const;
  std::string_view Find(std::int64_t id) const;

  // As Resolve, interned. O(1) a row after the first use of a string while ids are not sparse.
  StringId Intern(const Row& row, int column, StringPool& pool);

 private:
  struct Entry {
    std::int64_t id = 0;
    std::size_t offset = 0;
    std::uint32_t length = 0;
    StringId interned = StringId::kEmpty;
  };
  static constexpr std::uint32_t kNoEntry = UINT32_MAX;
  std::uint32_t IndexOf(std::int64_t id) const;

  std::string text_;
  std::vector<Entry> entries_;        // sorted by id
  std::vector<std::uint32_t> by_id_;  // where ids are dense enough; else empty
};

}  // namespace hone::importer::nsys
