// SPDX-License-Identifier: Apache-2.0
#include "export/text_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/json_writer.h"

namespace hone::exporter {
namespace {

bool IsPlain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\';
}

}  // namespace

TextOutput::TextOutput(std::ostream& out) : out_(out) { buffer_.reserve(kPiece + 4096); }

void TextOutput::Flush() {
  out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  buffer_.clear();
}

TextOutput& TextOutput::Int(std::int64_t value) {
  const fmt::format_int digits(value);
  return Raw({digits.data(), digits.size()});
}

TextOutput& TextOutput::Uint(std::uint64_t value) {
  const fmt::format_int digits(value);
  return Raw({digits.data(), digits.size()});
}

TextOutput& TextOutput::Real(double value) {
  if (!std::isfinite(value)) return Raw("null");
  fmt::format_to(std::back_inserter(buffer_), "{}", value);
  return *this;
}

TextOutput& TextOutput::Real(float value) {
  if (!std::isfinite(value)) return Raw("null");
  fmt::format_to(std::back_inserter(buffer_), "{}", value);
  return *this;
}

TextOutput& TextOutput::Micros(Nanos time) {
  if (time < 0) Raw("-");
  const std::uint64_t size = time < 0 ? -static_cast<std::uint64_t>(time) : std::uint64_t(time);
  Uint(size / 1000);
  const auto rest = static_cast<unsigned>(size % 1000);
  const char decimals[] = {'.', static_cast<char>('0' + rest / 100),
                           static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
  return Raw({decimals, sizeof decimals});
}

TextOutput& TextOutput::Quoted(std::string_view text) {
  if (!std::all_of(text.begin(), text.end(), IsPlain)) return Raw(JsonQuoted(text));
  return Raw("\"").Raw(text).Raw("\"");
}

}  // namespace hone::exporter
