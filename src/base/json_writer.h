// SPDX-License-Identifier: Apache-2.0
// JsonWriter: writes JSON to a stream as it goes, without a tree in memory. What comes out is valid
// JSON and valid UTF-8 whatever strings go in.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace hone {

// The caller keeps the grammar (a key before each value of an object, ends that match); breaking
// it is a bug and hits a CHECK. Not thread-safe.
class JsonWriter {
 public:
  enum class Layout : std::uint8_t {
    kLines,   // each member on its own line
    kInline,  // all members on one line, and so everything inside
  };

  enum class Escape : std::uint8_t {
    kJson,
    kHtml,  // and '<' as \u003c, so that no string can end the <script> that holds the document
  };

  explicit JsonWriter(std::ostream& out, Escape escape = Escape::kJson)
      : out_(out), escape_(escape) {}

  void BeginObject(Layout layout = Layout::kLines) { Begin('{', layout); }
  void EndObject() { End('}'); }
  void BeginArray(Layout layout = Layout::kLines) { Begin('[', layout); }
  void EndArray() { End(']'); }
  JsonWriter& Key(std::string_view key);

  // Invalid UTF-8 becomes U+FFFD; control characters (DEL and C1 too) are escaped.
  void String(std::string_view text);
  void Int(std::int64_t value);
  void Uint(std::uint64_t value);
  void Double(double value);  // shortest form that reads back the same; null when not finite
  void Bool(bool value);
  void Null();
  void Millis(Nanos time);  // exact, six decimals
  void Micros(Nanos time);  // exact, three decimals

  // Key and value in one.
  void Field(std::string_view key, std::string_view value) { Key(key).String(value); }
  void Field(std::string_view key, const char* value) { Key(key).String(value); }
  void Field(std::string_view key, const std::string& value) { Key(key).String(value); }
  void Field(std::string_view key, std::same_as<bool> auto value) { Key(key).Bool(value); }
  void Field(std::string_view key, std::floating_point auto value) { Key(key).Double(value); }
  template <std::integral T>
  requires(!std::same_as<T, bool>) void Field(std::string_view key, T value) {
    if constexpr (std::signed_integral<T>) {
      Key(key).Int(value);
    } else {
      Key(key).Uint(value);
    }
  }
  // Null where there is none.
  template <typename T>
  void Field(std::string_view key, const std::optional<T>& value) {
    if (value) {
      Field(key, *value);
    } else {
      Key(key).Null();
    }
  }
  void Field(std::string_view key, const std::vector<std::string>& texts);  // on one line
  void FieldMillis(std::string_view key, Nanos time) { Key(key).Millis(time); }
  void FieldMicros(std::string_view key, Nanos time) { Key(key).Micros(time); }

  // A line end after the last value. The document must be complete.
  void Finish();

 private:
  struct Level {
    char close;
    Layout layout;
    bool empty = true;
  };

  void Begin(char open, Layout layout);
  void End(char close);
  void BeforeValue();
  void Separate();
  void NewLine();
  void Raw(std::string_view text);

  std::ostream& out_;
  const Escape escape_;
  std::vector<Level> levels_;
  bool after_key_ = false;
  bool done_ = false;
};

// The text as a JSON string, quotes included.
std::string JsonQuoted(std::string_view text,
                       JsonWriter::Escape escape = JsonWriter::Escape::kJson);

}  // namespace hone
