// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.h"

#include <fmt/format.h>

#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "base/utf8.h"

namespace hone {
namespace {

void AppendEscaped(char32_t code, std::string& out) {
  switch (code) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    case '<': out += "\\u003c"; return;  // plain text unless asked for
    default: break;
  }
  // U+2028 and U+2029 end a line in JavaScript; escaped, the document can be pasted into a page.
  if (code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029) {
    out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
  } else {
    AppendUtf8(code, out);
  }
}

bool IsPlain(unsigned char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

}  // namespace

std::string JsonQuoted(std::string_view text, JsonWriter::Escape escape) {
  const unsigned char stop = escape == JsonWriter::Escape::kHtml ? '<' : '"';
  std::string out;
  out.reserve(text.size() + 2);
  out.push_back('"');
  for (std::size_t at = 0; at < text.size();) {
    std::size_t plain = at;
    while (plain < text.size() && IsPlain(static_cast<unsigned char>(text[plain])) &&
           static_cast<unsigned char>(text[plain]) != stop) {
      ++plain;
    }
    out.append(text.substr(at, plain - at));
    if (plain == text.size()) break;
    const Utf8Char c = DecodeUtf8(text, plain);
    AppendEscaped(c.code, out);
    at = plain + c.size;
  }
  out.push_back('"');
  return out;
}

void JsonWriter::Raw(std::string_view text) {
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
}

void JsonWriter::NewLine() {
  Raw("\n");
  for (std::size_t i = 0; i < levels_.size(); ++i) Raw("  ");
}

void JsonWriter::Separate() {
  Level& level = levels_.back();
  if (!level.empty) Raw(level.layout == Layout::kInline ? ", " : ",");
  if (level.layout == Layout::kLines) NewLine();
  level.empty = false;
}

void JsonWriter::BeforeValue() {
  if (levels_.empty()) {
    HONE_CHECK(!done_);
    done_ = true;
    return;
  }
  if (levels_.back().close == '}') {
    HONE_CHECK(after_key_);
    after_key_ = false;
    return;
  }
  Separate();
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  HONE_CHECK(!levels_.empty() && levels_.back().close == '}' && !after_key_);
  Separate();
  Raw(JsonQuoted(key, escape_));
  Raw(": ");
  after_key_ = true;
  return *this;
}

void JsonWriter::Begin(char open, Layout layout) {
  BeforeValue();
  if (!levels_.empty() && levels_.back().layout == Layout::kInline) layout = Layout::kInline;
  Raw({&open, 1});
  levels_.push_back({open == '{' ? '}' : ']', layout});
}

void JsonWriter::End(char close) {
  HONE_CHECK(!levels_.empty() && levels_.back().close == close && !after_key_);
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.empty && level.layout == Layout::kLines) NewLine();
  Raw({&close, 1});
}

void JsonWriter::String(std::string_view text) {
  BeforeValue();
  Raw(JsonQuoted(text, escape_));
}

void JsonWriter::Int(std::int64_t value) {
  BeforeValue();
  Raw(fmt::format("{}", value));
}

void JsonWriter::Uint(std::uint64_t value) {
  BeforeValue();
  Raw(fmt::format("{}", value));
}

void JsonWriter::Double(double value) {
  BeforeValue();
  Raw(std::isfinite(value) ? fmt::format("{}", value) : "null");
}

void JsonWriter::Bool(bool value) {
  BeforeValue();
  Raw(value ? "true" : "false");
}

void JsonWriter::Null() {
  BeforeValue();
  Raw("null");
}

void JsonWriter::Millis(Nanos time) {
  BeforeValue();
  Raw(ExactDecimal(time, 6));
}

void JsonWriter::Micros(Nanos time) {
  BeforeValue();
  Raw(ExactDecimal(time, 3));
}

void JsonWriter::Field(std::string_view key, const std::vector<std::string>& texts) {
  Key(key).BeginArray(Layout::kInline);
  for (const std::string& text : texts) String(text);
  EndArray();
}

void JsonWriter::Finish() {
  HONE_CHECK(done_ && levels_.empty());
  Raw("\n");
}

}  // namespace hone
