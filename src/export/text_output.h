// SPDX-License-Identifier: Apache-2.0
// TextOutput: text in front of a stream, a quarter of a megabyte at a time. A row has some thirty
// pieces; through std::ostream each costs as much as all of them here.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "base/units.h"

namespace hone::exporter {

// Not thread-safe. Failures of the stream show in the stream.
class TextOutput {
 public:
  explicit TextOutput(std::ostream& out);
  ~TextOutput() { Flush(); }
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;

  TextOutput& Raw(std::string_view text) {
    buffer_.append(text);
    if (buffer_.size() >= kPiece) Flush();
    return *this;
  }
  TextOutput& Int(std::int64_t value);
  TextOutput& Uint(std::uint64_t value);
  // The shortest form that reads back the same; null when not finite.
  TextOutput& Real(double value);
  TextOutput& Real(float value);
  // Exact microseconds with three decimals.
  TextOutput& Micros(Nanos time);
  // A JSON string with its quotes; valid UTF-8 and JSON whatever goes in (base/json_writer.h).
  TextOutput& Quoted(std::string_view text);

  void Flush();

 private:
  static constexpr std::size_t kPiece = std::size_t{256} << 10;

  std::ostream& out_;
  std::string buffer_;
};

// The members of a JSON object that is written member by member.
class JsonMembers {
 public:
  explicit JsonMembers(TextOutput& out) : out_(out) {}

  // Opens the object at the first member, so that an empty one leaves no trace: `before` stands in
  // front of it.
  JsonMembers(TextOutput& out, std::string_view before) : out_(out), before_(before) {}
  TextOutput& Key(std::string_view key) {
    if (empty_) {
      out_.Raw(before_).Raw("{");
    } else {
      out_.Raw(", ");
    }
    empty_ = false;
    return out_.Raw("\"").Raw(key).Raw("\": ");  // keys are ours: nothing to escape
  }
  void End() {
    if (!empty_) out_.Raw("}");
  }

 private:
  TextOutput& out_;
  std::string_view before_;
  bool empty_ = true;
};

}  // namespace hone::exporter
