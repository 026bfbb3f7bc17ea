// SPDX-License-Identifier: Apache-2.0
// Reading JSON that another program wrote: what is not there, or of another type, is the default.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hone::bench {

using JsonValue = simdjson::dom::element;

inline std::optional<JsonValue> Find(const JsonValue& object, std::string_view key) {
  JsonValue value;
  if (object[key].get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return value;
}

inline std::optional<double> FindDouble(const JsonValue& object, std::string_view key) {
  double value = 0;
  if (object[key].get_double().get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

inline double DoubleOr(const JsonValue& object, std::string_view key, double otherwise) {
  return FindDouble(object, key).value_or(otherwise);
}

inline std::int64_t IntOr(const JsonValue& object, std::string_view key, std::int64_t otherwise) {
  std::int64_t value = 0;
  return object[key].get_int64().get(value) == simdjson::SUCCESS ? value : otherwise;
}

inline bool BoolOr(const JsonValue& object, std::string_view key, bool otherwise) {
  bool value = false;
  return object[key].get_bool().get(value) == simdjson::SUCCESS ? value : otherwise;
}

inline std::string TextOr(const JsonValue& object, std::string_view key, std::string otherwise) {
  std::string_view value;
  if (object[key].get_string().get(value) != simdjson::SUCCESS) return otherwise;
  return std::string(value);
}

// Elements of an array; empty where there is none.
inline std::vector<JsonValue> Elements(const JsonValue& object, std::string_view key) {
  std::vector<JsonValue> elements;
  simdjson::dom::array array;
  if (object[key].get_array().get(array) != simdjson::SUCCESS) return elements;
  for (const JsonValue& element : array) elements.push_back(element);
  return elements;
}

inline std::vector<std::int64_t> Ints(const JsonValue& object, std::string_view key) {
  std::vector<std::int64_t> values;
  for (const JsonValue& element : Elements(object, key)) {
    std::int64_t value = 0;
    if (element.get_int64().get(value) == simdjson::SUCCESS) values.push_back(value);
  }
  return values;
}

}  // namespace hone::bench
