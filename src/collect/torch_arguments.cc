// SPDX-License-Identifier: Apache-2.0
#include "collect/torch_arguments.h"

#include <charconv>
#include <cstring>
#include <string_view>

#include "collect/names.h"
#include "collect/torch_layout.h"

namespace hone::collect {
namespace {

constexpr std::uint64_t kMostArguments = 64;  // torch's own operators have at most 30
constexpr std::uint64_t kMostInList = 32;     // Kineto cuts lists at 30
constexpr std::uint64_t kMostDims = 25;       // torch's own limit is 64, its kernels' 25

// c10::ScalarType → the name Kineto prints.
constexpr const char* kTypeNames[] = {"unsigned char",
                                      "signed char",
                                      "short",
                                      "int",
                                      "long int",
                                      "c10::Half",
                                      "float",
                                      "double",
                                      "c10::complex<c10::Half>",
                                      "c10::complex<float>",
                                      "c10::complex<double>",
                                      "bool",
                                      "c10::qint8",
                                      "c10::quint8",
                                      "c10::qint32",
                                      "c10::BFloat16"};
constexpr std::size_t kTypeCount = sizeof(kTypeNames) / sizeof(kTypeNames[0]);

// Text of a fixed size; what does not fit makes it worthless, and it says so.
class Text {
 public:
  void Add(std::string_view text) {
    if (text.size() > sizeof(text_) - size_) {
      full_ = true;
      return;
    }
    std::memcpy(text_ + size_, text.data(), text.size());
    size_ += text.size();
  }
  template <typename Number>
  void AddNumber(Number number) {
    const auto [end, error] = std::to_chars(text_ + size_, text_ + sizeof(text_), number);
    if (error != std::errc()) {
      full_ = true;
    } else {
      size_ = static_cast<std::size_t>(end - text_);
    }
  }
  void Separate() {
    if (text_[size_ - 1] != '[') Add(", ");
  }
  bool full() const { return full_; }
  std::string_view view() const { return {text_, size_}; }

 private:
  char text_[1300];
  std::size_t size_ = 0;
  bool full_ = false;
};

template <typename T>
T Load(std::uint64_t address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof(T));
  return value;
}

const char* TypeName(std::uint16_t type) {
  constexpr std::uint16_t kFloat8E5M2 = 23, kFloat8E4M3 = 24;
  if (type < kTypeCount) return kTypeNames[type];
  if (type == kFloat8E5M2) return "c10::Float8_e5m2";
  if (type == kFloat8E4M3) return "c10::Float8_e4m3fn";
  return "";
}

class Printer {
 public:
  bool Print(const IValue* values, std::uint64_t count) {
    dims_.Add("[");
    types_.Add("[");
    concrete_.Add("[");
    for (std::uint64_t i = 0; i < count; ++i) {
      dims_.Separate();
      types_.Separate();
      concrete_.Separate();
      PrintOne(values[i]);
    }
    dims_.Add("]");
    types_.Add("]");
    concrete_.Add("]");
    return !dims_.full() && !types_.full() && !concrete_.full();
  }

  std::uint32_t Intern() const {
    char text[4000];
    std::size_t size = 0;
    for (const Text* part : {&dims_, &types_, &concrete_}) {
      if (size > 0) text[size++] = kArgumentsSeparator;
      std::memcpy(text + size, part->view().data(), part->view().size());
      size += part->view().size();
    }
    return InternName({text, size});
  }

 private:
  void Empty(std::string_view type) {
    dims_.Add("[]");
    types_.Add("\"");
    types_.Add(type);
    types_.Add("\"");
  }

  void PrintOne(const IValue& value) {
    const TorchLayout& layout = g_torch_layout;
    if (value.tag == layout.tensor_tag) {
      PrintDims(value.payload);
      types_.Add("\"");
      if (value.payload != 0)
        types_.Add(TypeName(Load<std::uint16_t>(value.payload + layout.type)));
      types_.Add("\"");
      concrete_.Add("\"\"");
    } else if (value.tag == layout.list_tag && layout.list != 0) {
      PrintList(value);
    } else if (value.tag == layout.int_tag || value.tag == layout.double_tag ||
               value.tag == layout.bool_tag) {
      Empty("Scalar");
      concrete_.Add("\"");
      PrintScalar(value);
      concrete_.Add("\"");
    } else {
      Empty("");
      concrete_.Add("\"\"");
    }
  }

  void PrintScalar(const IValue& value) {
    const TorchLayout& layout = g_torch_layout;
    if (value.tag == layout.bool_tag) {
      concrete_.Add((value.payload & 0xFF) != 0 ? "True" : "False");
    } else if (value.tag == layout.double_tag) {
      double number = 0;
      std::memcpy(&number, &value.payload, sizeof(number));
      concrete_.AddNumber(number);
    } else {
      concrete_.AddNumber(static_cast<std::int64_t>(value.payload));
    }
  }

  // torch's one tensor for "none was given" has the shape [0] and a type without a name.
  static bool IsUndefined(std::uint64_t tensor) {
    const std::uint64_t sizes = tensor + g_torch_layout.sizes;
    return Load<std::uint64_t>(sizes) == 1 && Load<std::int64_t>(sizes + 8) == 0 &&
           *TypeName(Load<std::uint16_t>(tensor + g_torch_layout.type)) == 0;
  }

  void PrintDims(std::uint64_t tensor) {
    dims_.Add("[");
    if (tensor != 0 && !IsUndefined(tensor)) {
      const std::uint64_t sizes = tensor + g_torch_layout.sizes;
      const auto count = Load<std::uint64_t>(sizes);
      constexpr std::uint64_t kInPlace = 5;
      const std::uint64_t first = count <= kInPlace ? sizes + 8 : Load<std::uint64_t>(sizes + 8);
      for (std::uint64_t i = 0; i < count && count <= kMostDims; ++i) {
        dims_.Separate();
        dims_.AddNumber(Load<std::int64_t>(first + 8 * i));
      }
    }
    dims_.Add("]");
  }

  void PrintList(const IValue& value) {
    const std::uint64_t list = value.payload + g_torch_layout.list;
    const auto begin = Load<std::uint64_t>(list), end = Load<std::uint64_t>(list + 8);
    const std::uint64_t count = (end - begin) / sizeof(IValue);
    if (count == 0 || count > kMostInList) {
      Empty(count == 0 ? "" : "TensorList");
      concrete_.Add(count == 0 ? "\"[]\"" : "\"\"");
      return;
    }
    if (Load<IValue>(begin).tag == g_torch_layout.tensor_tag) {
      dims_.Add("[");
      for (std::uint64_t i = 0; i < count; ++i) {
        dims_.Separate();
        const auto item = Load<IValue>(begin + i * sizeof(IValue));
        PrintDims(item.tag == g_torch_layout.tensor_tag ? item.payload : 0);
      }
      dims_.Add("]");
      types_.Add("\"TensorList\"");
      concrete_.Add("\"\"");
      return;
    }
    Empty("ScalarList");
    concrete_.Add("\"[");
    for (std::uint64_t i = 0; i < count; ++i) {
      concrete_.Separate();
      PrintScalar(Load<IValue>(begin + i * sizeof(IValue)));
    }
    concrete_.Add("]\"");
  }

  Text dims_, types_, concrete_;
};

}  // namespace

std::uint32_t ArgumentsOf(const void* function) noexcept {
  const TorchLayout& layout = g_torch_layout;
  if (!layout.knows_arguments()) return kUnnamed;
  const auto inputs = reinterpret_cast<std::uint64_t>(function) + layout.inputs;
  const auto values = Load<const IValue*>(inputs);
  const auto count = Load<std::uint64_t>(inputs + 8);
  if (values == nullptr || count == 0 || count > kMostArguments) return kUnnamed;
  Printer printer;
  return printer.Print(values, count) ? printer.Intern() : kUnnamed;
}

}  // namespace hone::collect
