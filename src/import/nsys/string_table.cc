// SPDX-License-Identifier: Apache-2.0
#include "import/nsys/string_table.h"

#include <algorithm>
#include <charconv>

namespace hone::importer::nsys {

void StringTable::Load(Database& database) {
  database.Scan("StringIds", {"id", "value"}, [&](const Row& row) {
    const std::string_view value = row.Text(1);
    if (!row.Has(0) || value.empty()) return;
    entries_.push_back(
        {row.Int(0), text_.size(), static_cast<std::uint32_t>(value.size()), StringId::kEmpty});
    text_ += value;
  });
  // `id` is the key of the table, so rows come sorted; an odd writer is sorted here.
  const auto by_id = [](const Entry& a, const Entry& b) { return a.id < b.id; };
  if (!std::is_sorted(entries_.begin(), entries_.end(), by_id)) {
    std::stable_sort(entries_.begin(), entries_.end(), by_id);
  }
  if (entries_.empty() || entries_.front().id < 0) return;
  // A filtered export keeps few strings of many: up to this much emptiness an array beats search.
  const auto span = static_cast<std::uint64_t>(entries_.back().id);
  if (span >= 64 * entries_.size() + (std::uint64_t{1} << 16)) return;
  by_id_.assign(span + 1, kNoEntry);
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    by_id_[static_cast<std::size_t>(entries_[i].id)] = i;
  }
}

std::uint32_t StringTable::IndexOf(std::int64_t id) const {
  if (!by_id_.empty()) {
    return static_cast<std::uint64_t>(id) < by_id_.size() ? by_id_[static_cast<std::size_t>(id)]
                                                          : kNoEntry;
  }
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), id,
                                      [](const Entry& e, std::int64_t key) { return e.id < key; });
  if (found == entries_.end() || found->id != id) return kNoEntry;
  return static_cast<std::uint32_t>(found - entries_.begin());
}

std::string_view StringTable::Find(std::int64_t id) const {
  const std::uint32_t index = IndexOf(id);
  if (index == kNoEntry) return {};
  return std::string_view(text_).substr(entries_[index].offset, entries_[index].length);
}

namespace {
// Text that is a number, as a column without a declared type may hold an id.
bool ParseId(std::string_view text, std::int64_t& id) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  return error == std::errc() && end == text.data() + text.size();
}
}  // namespace

std::string_view StringTable::Resolve(const Row& row, int column) const {
  if (!row.Has(column)) return {};
  if (!row.IsText(column)) return Find(row.Int(column));
  const std::string_view text = row.Text(column);
  std::int64_t id = 0;
  if (!ParseId(text, id)) return text;
  const std::string_view found = Find(id);
  return found.empty() ? text : found;
}

StringId StringTable::Intern(const Row& row, int column, StringPool& pool) {
  if (!row.Has(column)) return StringId::kEmpty;
  if (row.IsText(column)) return pool.Intern(Resolve(row, column));
  const std::uint32_t index = IndexOf(row.Int(column));
  if (index == kNoEntry) return StringId::kEmpty;
  Entry& entry = entries_[index];
  if (entry.interned == StringId::kEmpty) {
    entry.interned = pool.Intern(std::string_view(text_).substr(entry.offset, entry.length));
  }
  return entry.interned;
}

}  // namespace hone::importer::nsys
