// SPDX-License-Identifier: Apache-2.0
// Reading back what the writers wrote, in tests. A wrong path or type fails the test and reads as
// zero or empty.
#pragma once

#include <gtest/gtest.h>
#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

class JsonValue {
 public:
  explicit JsonValue(simdjson::simdjson_result<simdjson::dom::element> result) {
    found_ = result.get(element_) == simdjson::SUCCESS;
  }

  bool found() const { return found_; }
  bool is_null() const { return found_ && element_.is_null(); }
  JsonValue operator[](const char* key) const {
    JsonValue value(found_ ? element_[key] : Missing());
    return value;
  }
  JsonValue operator[](std::size_t index) const {
    return JsonValue(found_ ? element_.at(index) : Missing());
  }
  std::size_t size() const {
    simdjson::dom::array array;
    if (found_ && element_.get(array) == simdjson::SUCCESS) return array.size();
    simdjson::dom::object object;
    if (found_ && element_.get(object) == simdjson::SUCCESS) return object.size();
    ADD_FAILURE() << "neither array nor object";
    return 0;
  }
  double number() const { return Get<double>(); }
  std::int64_t integer() const { return Get<std::int64_t>(); }
  bool flag() const { return Get<bool>(); }
  std::string text() const { return std::string(Get<std::string_view>()); }

 private:
  static simdjson::simdjson_result<simdjson::dom::element> Missing() {
    return simdjson::simdjson_result<simdjson::dom::element>(simdjson::NO_SUCH_FIELD);
  }
  template <typename T>
  T Get() const {
    T value{};
    if (!found_ || element_.get(value) != simdjson::SUCCESS) ADD_FAILURE() << "no such value";
    return value;
  }

  simdjson::dom::element element_;
  bool found_ = false;
};

// Owns the text's tree; values read from it live as long.
class JsonDocument {
 public:
  explicit JsonDocument(const std::string& text) : root_(parser_.parse(text)) {
    EXPECT_TRUE(root_.found()) << text;
  }
  const JsonValue& root() const { return root_; }
  JsonValue operator[](const char* key) const { return root_[key]; }

 private:
  simdjson::dom::parser parser_;
  JsonValue root_;
};

}  // namespace hone
