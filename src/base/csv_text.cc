// SPDX-License-Identifier: Apache-2.0
#include "base/csv_text.h"

#include "base/utf8.h"

namespace hone {
namespace {

std::string Cleaned(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text, at);
    const bool control = (c.code < 0x20 && c.code != '\t' && c.code != '\n' && c.code != '\r') ||
                         (c.code >= 0x7F && c.code < 0xA0);
    AppendUtf8(control ? kReplacementCharacter : c.code, out);
    at += c.size;
  }
  return out;
}

}  // namespace

std::string CsvText(std::string_view text) {
  const std::string clean = Cleaned(text);
  const bool plain = clean.find_first_of(",\"\r\n") == std::string::npos &&
                     (clean.empty() || (clean.front() != ' ' && clean.back() != ' '));
  if (plain) return clean;
  std::string out = "\"";
  for (const char c : clean) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
  return out;
}

}  // namespace hone
