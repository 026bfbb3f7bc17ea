// SPDX-License-Identifier: Apache-2.0
#include "import/kineto/scalar.h"

#include <simdjson.h>

#include <charconv>
#include <cmath>

#include "import/kineto/white_space.h"

namespace hone::importer::kineto {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
}  // namespace

std::string_view Unquote(std::string_view token) {
  while (!token.empty() && IsSpace(token.back())) token.remove_suffix(1);
  while (!token.empty() && IsSpace(token.front())) token.remove_prefix(1);
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') {
    token = token.substr(1, token.size() - 2);
  }
  return token;
}

std::optional<Nanos> ParseMicros(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  // 9.2e15 us is the most that fits in 64 bits of nanoseconds.
  constexpr std::int64_t kMostMicros = 9'200'000'000'000'000;
  std::int64_t micros = 0;
  const char* const digits = at;
  for (; at != end && IsDigit(*at); ++at) {
    micros = micros * 10 + (*at - '0');
    if (micros > kMostMicros) return std::nullopt;
  }
  if (at == digits) return std::nullopt;
  std::int64_t nanos = micros * 1000;
  if (at != end && *at == '.') {
    ++at;
    std::int64_t scale = 100;
    for (; at != end && IsDigit(*at); ++at) {
      if (scale > 0) {
        nanos += (*at - '0') * scale;
      } else if (scale == 0) {
        nanos += *at >= '5' ? 1 : 0;
        scale = -1;
      }
      if (scale > 0) scale /= 10;
    }
  }
  if (at != end) {  // an exponent, white space, or not a number
    const std::optional<double> value = ParseDouble(text);
    if (!value || std::abs(*value) > static_cast<double>(kMostMicros)) return std::nullopt;
    return static_cast<Nanos>(std::llround(*value * 1000.0));
  }
  return negative ? -nanos : nanos;
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  // Nearly all are a few digits; up to 18 cannot overflow.
  std::int64_t value = 0;
  std::size_t digits = 0;
  while (digits < text.size() && digits < 18 && IsDigit(text[digits])) {
    value = value * 10 + (text[digits++] - '0');
  }
  if (digits == text.size() && digits > 0) return value;
  value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && at == end) return value;
  if (text.starts_with("0x")) {
    const std::optional<std::uint64_t> address = ParseAddress(text);
    if (address && *address <= INT64_MAX) return static_cast<std::int64_t>(*address);
    return std::nullopt;
  }
  const std::optional<double> real = ParseDouble(text);
  if (!real || std::abs(*real) >= 9.2e18) return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

std::optional<std::uint64_t> ParseAddress(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, hex ? 16 : 10);
  if (error != std::errc{} || at != end || text.empty()) return std::nullopt;
  return value;
}

std::optional<double> ParseDouble(std::string_view text) {
  text = Unquote(text);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || at != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

IdValue ParseId(std::string_view token) {
  IdValue id;
  const std::string_view text = Unquote(token);
  if (text == "null") return id;
  if (const std::optional<std::int64_t> number = ParseInteger(text)) {
    id.number = *number;
    id.form = IdValue::Form::kNumber;
  } else {
    id.text = text;
    id.form = IdValue::Form::kText;
  }
  return id;
}

std::string Unescape(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos) return std::string(raw);
  simdjson::padded_string quoted(std::string("\"").append(raw).append("\""));
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  std::string_view text;
  if (parser.iterate(quoted).get(document) != simdjson::SUCCESS ||
      document.get_string().get(text) != simdjson::SUCCESS) {
    return std::string(raw);
  }
  return std::string(text);
}

}  // namespace hone::importer::kineto
