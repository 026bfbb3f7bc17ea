// SPDX-License-Identifier: Apache-2.0
#include "import/nsys/diagnostics.h"

#include <charconv>
#include <string>

namespace hone::importer::nsys {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Whole words, lower case, numbers without their thousands separators.
std::string Normalized(std::string_view text) {
  std::string words = " ";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (IsLetter(c)) {
      words += c == '_' ? c : static_cast<char>(c | 0x20);
    } else if (IsDigit(c)) {
      words += c;
    } else if (c == ',' && i + 1 < text.size() && IsDigit(words.back()) && IsDigit(text[i + 1])) {
      continue;
    } else if (words.back() != ' ') {
      words += ' ';
    }
  }
  return words + " ";
}

bool Has(const std::string& words, std::string_view part) {
  return words.find(part) != std::string::npos;
}

}  // namespace

std::uint64_t DroppedRecords(std::string_view message) {
  // Diagnostics are sentences; a hostile one of a megabyte is not worth reading to its end.
  const std::string words = Normalized(message.substr(0, 4096));
  const bool verb = Has(words, " dropped ") || Has(words, " lost ") || Has(words, " discarded ") ||
                    Has(words, " dropping ");
  const bool noun = Has(words, " event") || Has(words, " record") || Has(words, " sample") ||
                    Has(words, " data ") || Has(words, " buffer") || Has(words, " activit");
  if (!verb || !noun) return 0;
  for (const std::string_view denial :
       {" no event", " no record", " no sample", " no data", " no buffer", " none ",
        " not dropped ", " not lost ", " may have ", " might have "}) {
    if (Has(words, denial)) return 0;
  }
  // The number next to the noun: "1234 events were dropped", "dropped 12 CUPTI records".
  for (std::size_t at = 0; at + 1 < words.size(); ++at) {
    if (words[at] != ' ' || !IsDigit(words[at + 1])) continue;
    std::uint64_t count = 0;
    const auto [end, error] =
        std::from_chars(words.data() + at + 1, words.data() + words.size(), count);
    if (error != std::errc() || *end != ' ') continue;
    std::string_view rest(end, static_cast<std::size_t>(words.data() + words.size() - end));
    rest = rest.substr(0, 24);  // within two or three words
    for (const std::string_view unit : {" event", " record", " sample", " buffer", " activit"}) {
      if (rest.find(unit) != std::string_view::npos) return count;
    }
  }
  return 1;
}

}  // namespace hone::importer::nsys
