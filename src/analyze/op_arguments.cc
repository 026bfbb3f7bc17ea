// SPDX-License-Identifier: Apache-2.0
// Arguments of operators: their JSON text, and the types in it.
#include <simdjson.h>

#include <array>
#include <cstring>
#include <string>

#include "analyze/flops.h"
#include "analyze/kernel_precision.h"

namespace hone::analyze {
namespace {

namespace ondemand = simdjson::ondemand;

// simdjson reads a few bytes past the end, so the text is copied into a buffer with room. Parser
// and buffer are kept: one call per distinct argument row adds up.
class JsonReader {
 public:
  // Calls visit(element) for each element of the array in `text`; false on malformed text.
  template <typename Visit>
  bool ForEach(std::string_view text, Visit visit) {
    buffer_.assign(text);
    buffer_.resize(text.size() + simdjson::SIMDJSON_PADDING);
    ondemand::document document;
    const simdjson::padded_string_view padded(buffer_.data(), text.size(), buffer_.size());
    if (parser_.iterate(padded).get(document) != simdjson::SUCCESS) return false;
    ondemand::array array;
    if (document.get_array().get(array) != simdjson::SUCCESS) return false;
    for (auto element : array) {
      ondemand::value value;
      if (element.get(value) != simdjson::SUCCESS || !visit(value)) return false;
    }
    return true;
  }

  // The text inside the quotes of a string element, as a view into `text` given to ForEach.
  std::string_view Unquoted(std::string_view token, std::string_view text) const {
    const auto offset = static_cast<std::size_t>(token.data() - buffer_.data());
    const std::size_t close = token.rfind('"');
    if (token.empty() || token.front() != '"' || close == 0 || offset + close > text.size()) {
      return {};
    }
    return text.substr(offset + 1, close - 1);
  }

 private:
  ondemand::parser parser_;
  std::string buffer_;
};

bool ReadDims(ondemand::array array, ArgumentShape& argument) {
  for (auto element : array) {
    ondemand::value value;
    ondemand::json_type type;
    if (element.get(value) != simdjson::SUCCESS || value.type().get(type) != simdjson::SUCCESS) {
      return false;
    }
    if (type == ondemand::json_type::array) {
      ondemand::array inner;
      if (value.get_array().get(inner) != simdjson::SUCCESS) return false;
      std::vector<std::int64_t>& dims = argument.list.emplace_back();
      for (auto inner_element : inner) {
        std::int64_t dim = 0;
        if (inner_element.get_int64().get(dim) != simdjson::SUCCESS || dim < 0) return false;
        dims.push_back(dim);
      }
      continue;
    }
    std::int64_t dim = 0;
    if (value.get_int64().get(dim) != simdjson::SUCCESS || dim < 0) return false;
    argument.dims.push_back(dim);
  }
  return true;
}

struct TypeRow {
  std::string_view name;
  int bytes;
  Precision precision;
};

// Spellings of the C++ types as Kineto demangles them, old and new.
constexpr auto kTypes = std::to_array<TypeRow>({
    {"float", 4, Precision::kFp32},
    {"double", 8, Precision::kFp64},
    {"c10::BFloat16", 2, Precision::kBf16},
    {"c10::Half", 2, Precision::kFp16},
    {"long int", 8, Precision::kInt},
    {"long", 8, Precision::kInt},
    {"long long", 8, Precision::kInt},
    {"__int64", 8, Precision::kInt},
    {"long unsigned int", 8, Precision::kInt},
    {"unsigned long", 8, Precision::kInt},
    {"int", 4, Precision::kInt},
    {"unsigned int", 4, Precision::kInt},
    {"short", 2, Precision::kInt},
    {"short int", 2, Precision::kInt},
    {"short unsigned int", 2, Precision::kInt},
    {"unsigned short", 2, Precision::kInt},
    {"signed char", 1, Precision::kInt8},
    {"unsigned char", 1, Precision::kInt8},
    {"char", 1, Precision::kInt8},
    {"bool", 1, Precision::kInt},
    {"c10::qint8", 1, Precision::kInt8},
    {"c10::quint8", 1, Precision::kInt8},
    {"c10::qint32", 4, Precision::kInt},
    {"c10::complex<float>", 8, Precision::kFp32},
    {"c10::complex<double>", 16, Precision::kFp64},
    {"c10::complex<c10::Half>", 4, Precision::kFp16},
});

}  // namespace

int TypeBytes(std::string_view type) {
  for (const TypeRow& row : kTypes) {
    if (row.name == type) return row.bytes;
  }
  return ElementBytes(TypePrecision(type));
}

Precision TypePrecision(std::string_view type) {
  for (const TypeRow& row : kTypes) {
    if (row.name == type) return row.precision;
  }
  if (type.starts_with("c10::Float8_")) return Precision::kFp8;
  if (type.starts_with("c10::Float4_")) return Precision::kFp4;  // two to the byte, dims in bytes
  return Precision::kUnknown;
}

bool ArgumentShape::IsTensor() const { return TypeBytes(type) > 0; }

double ArgumentShape::Elements() const {
  double elements = 1;
  for (const std::int64_t dim : dims) elements *= static_cast<double>(dim);
  return elements;
}

double ArgumentShape::Bytes() const { return IsTensor() ? Elements() * TypeBytes(type) : 0; }

std::vector<ArgumentShape> ParseArguments(std::string_view dims, std::string_view types,
                                          std::string_view concrete) {
  thread_local JsonReader reader;
  std::vector<ArgumentShape> arguments;
  const bool shaped = reader.ForEach(dims, [&](ondemand::value value) {
    ondemand::array array;
    return value.get_array().get(array) == simdjson::SUCCESS &&
           ReadDims(array, arguments.emplace_back());
  });
  if (!shaped) return {};

  const auto read_texts = [&](std::string_view text, std::string_view ArgumentShape::*field) {
    std::size_t i = 0;
    return reader.ForEach(text, [&](ondemand::value value) {
      const std::string_view token = value.raw_json_token();
      if (i < arguments.size()) arguments[i].*field = reader.Unquoted(token, text);
      ++i;
      return true;
    });
  };
  if (!read_texts(types, &ArgumentShape::type)) return {};
  if (!concrete.empty() && !read_texts(concrete, &ArgumentShape::concrete)) return {};
  return arguments;
}

}  // namespace hone::analyze
