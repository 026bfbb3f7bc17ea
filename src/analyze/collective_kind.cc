// SPDX-License-Identifier: Apache-2.0
#include "analyze/collective_kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "base/lower_case.h"

namespace hone::analyze {
namespace {

// Lower case, letters and digits only: "All_Reduce" and "allreduce" are one word.
std::string Plain(std::string_view text, bool with_arguments) {
  std::string plain;
  int depth = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '<' || c == '(') ++depth;
    if (c == '>' || c == ')') depth = std::max(depth - 1, 0);
    if (depth > 0 && !with_arguments) continue;
    if (std::isalnum(byte)) plain.push_back(LowerCase(c));
  }
  return plain;
}

bool Has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

}  // namespace

const char* CollectiveKindName(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kUnknown: return "unknown";
    case CollectiveKind::kAllReduce: return "all_reduce";
    case CollectiveKind::kAllGather: return "all_gather";
    case CollectiveKind::kReduceScatter: return "reduce_scatter";
    case CollectiveKind::kAllToAll: return "all_to_all";
    case CollectiveKind::kBroadcast: return "broadcast";
    case CollectiveKind::kReduce: return "reduce";
    case CollectiveKind::kSend: return "send";
    case CollectiveKind::kRecv: return "recv";
    case CollectiveKind::kSendRecv: return "send_recv";
    case CollectiveKind::kBarrier: return "barrier";
    case CollectiveKind::kGather: return "gather";
    case CollectiveKind::kScatter: return "scatter";
  }
  return "unknown";
}

CollectiveKind KindFromName(std::string_view name) {
  const std::string word = Plain(name, /*with_arguments=*/false);
  using Rule = std::pair<std::string_view, CollectiveKind>;
  // In this order: longer words first, since "reduce" is in "allreduce" and in "reducescatter".
  static constexpr std::array kRules = {
      Rule{"allreduce", CollectiveKind::kAllReduce},
      Rule{"crossdevicereduce", CollectiveKind::kAllReduce},  // custom all-reduce of vLLM, SGLang
      Rule{"quickreduce", CollectiveKind::kAllReduce},        // the same on ROCm
      Rule{"reducescatter", CollectiveKind::kReduceScatter},
      Rule{"allgather", CollectiveKind::kAllGather},
      Rule{"alltoall", CollectiveKind::kAllToAll},
      Rule{"all2all", CollectiveKind::kAllToAll},
      Rule{"sendrecv", CollectiveKind::kSendRecv},
      Rule{"broadcast", CollectiveKind::kBroadcast},
      Rule{"barrier", CollectiveKind::kBarrier},
      Rule{"gather", CollectiveKind::kGather},
      Rule{"scatter", CollectiveKind::kScatter},
      Rule{"reduce", CollectiveKind::kReduce},
      Rule{"send", CollectiveKind::kSend},
      Rule{"recv", CollectiveKind::kRecv},
      Rule{"receive", CollectiveKind::kRecv},
  };
  for (const auto& [text, kind] : kRules) {
    if (Has(word, text)) return kind;
  }
  // DeepEP and its like name the two halves of an expert-parallel all-to-all.
  if (Has(word, "deepep") && (Has(word, "dispatch") || Has(word, "combine"))) {
    return CollectiveKind::kAllToAll;
  }
  return CollectiveKind::kUnknown;
}

DataType DataTypeFromText(std::string_view text) {
  std::string word = Plain(text, /*with_arguments=*/true);
  if (word.starts_with("c10")) word.erase(0, 3);
  struct Rule {
    std::string_view text;
    DataType type;
  };
  static constexpr std::array kRules = {
      Rule{"float", {"float32", 4}},
      Rule{"float32", {"float32", 4}},
      Rule{"half", {"float16", 2}},
      Rule{"float16", {"float16", 2}},
      Rule{"bfloat16", {"bfloat16", 2}},
      Rule{"double", {"float64", 8}},
      Rule{"float64", {"float64", 8}},
      Rule{"byte", {"uint8", 1}},
      Rule{"unsignedchar", {"uint8", 1}},
      Rule{"uint8", {"uint8", 1}},
      Rule{"char", {"int8", 1}},
      Rule{"signedchar", {"int8", 1}},
      Rule{"int8", {"int8", 1}},
      Rule{"bool", {"bool", 1}},
      Rule{"short", {"int16", 2}},
      Rule{"shortint", {"int16", 2}},
      Rule{"int16", {"int16", 2}},
      Rule{"uint16", {"uint16", 2}},
      Rule{"int", {"int32", 4}},
      Rule{"int32", {"int32", 4}},
      Rule{"uint32", {"uint32", 4}},
      Rule{"unsignedint", {"uint32", 4}},
      Rule{"long", {"int64", 8}},
      Rule{"longint", {"int64", 8}},
      Rule{"int64", {"int64", 8}},
      Rule{"uint64", {"uint64", 8}},
      Rule{"unsignedlong", {"uint64", 8}},
      Rule{"float8e4m3fn", {"float8_e4m3fn", 1}},
      Rule{"float8e4m3fnuz", {"float8_e4m3fnuz", 1}},
      Rule{"float8e5m2", {"float8_e5m2", 1}},
      Rule{"float8e5m2fnuz", {"float8_e5m2fnuz", 1}},
      Rule{"float8e8m0fnu", {"float8_e8m0fnu", 1}},
      Rule{"float4e2m1fnx2", {"float4_e2m1fn_x2", 1}},  // two values an element
      Rule{"complexhalf", {"complex32", 4}},
      Rule{"complexfloat", {"complex64", 8}},
      Rule{"complexdouble", {"complex128", 16}},
      Rule{"qint8", {"qint8", 1}},
      Rule{"quint8", {"quint8", 1}},
      Rule{"qint32", {"qint32", 4}},
  };
  for (const Rule& rule : kRules) {
    if (word == rule.text) return rule.type;
  }
  return {};
}

DataType DataTypeFromKernel(std::string_view kernel_name, CollectiveKind kind) {
  if (kind != CollectiveKind::kAllReduce && kind != CollectiveKind::kReduceScatter &&
      kind != CollectiveKind::kReduce) {
    return {};
  }
  const std::string_view head = kernel_name.substr(0, kernel_name.find_first_of("(<"));
  if (!head.starts_with("nccl") && !head.starts_with("rccl")) return {};
  struct Rule {
    std::string_view text;
    DataType type;
  };
  // Before 2.19 C names (half, __nv_bfloat16, int8_t), since then short ones (f16, bf16, i8).
  // Each is looked for as a whole word between underscores, with its "_t" taken off; "bfloat16"
  // and "fp8" are words in which underscores stand.
  static constexpr std::array kWholeNames = {
      Rule{"_bfloat16", {"bfloat16", 2}},   Rule{"fp8_e4m3", {"float8_e4m3fn", 1}},
      Rule{"fp8_e5m2", {"float8_e5m2", 1}}, Rule{"f8_e4m3", {"float8_e4m3fn", 1}},
      Rule{"f8_e5m2", {"float8_e5m2", 1}},
  };
  for (const Rule& rule : kWholeNames) {
    if (Has(head, rule.text)) return rule.type;
  }
  static constexpr std::array kWords = {
      Rule{"f32", {"float32", 4}},        Rule{"float", {"float32", 4}},
      Rule{"f16", {"float16", 2}},        Rule{"half", {"float16", 2}},
      Rule{"bf16", {"bfloat16", 2}},      Rule{"f64", {"float64", 8}},
      Rule{"double", {"float64", 8}},     Rule{"i8", {"int8", 1}},
      Rule{"int8", {"int8", 1}},          Rule{"u8", {"uint8", 1}},
      Rule{"uint8", {"uint8", 1}},        Rule{"i32", {"int32", 4}},
      Rule{"int32", {"int32", 4}},        Rule{"u32", {"uint32", 4}},
      Rule{"uint32", {"uint32", 4}},      Rule{"i64", {"int64", 8}},
      Rule{"int64", {"int64", 8}},        Rule{"u64", {"uint64", 8}},
      Rule{"uint64", {"uint64", 8}},      Rule{"f8e4m3", {"float8_e4m3fn", 1}},
      Rule{"f8e5m2", {"float8_e5m2", 1}},
  };
  for (std::size_t begin = 0; begin <= head.size();) {
    const std::size_t end = std::min(head.find('_', begin), head.size());
    const std::string_view word = head.substr(begin, end - begin);
    for (const Rule& rule : kWords) {
      if (word == rule.text) return rule.type;
    }
    begin = end + 1;
  }
  return {};
}

Known<double> MessageElements(CollectiveKind kind, std::int64_t in_elements,
                              std::int64_t out_elements, std::int64_t group_size) {
  const auto absent = [](const char* why) { return Known<double>::Absent(why); };
  const auto either = [&](std::int64_t first, std::int64_t second) -> Known<double> {
    if (first >= 0) return static_cast<double>(first);
    if (second >= 0) return static_cast<double>(second);
    return absent("size not recorded");
  };
  // The whole, else one rank's part times the ranks.
  const auto whole = [&](std::int64_t all, std::int64_t part) -> Known<double> {
    if (all >= 0) return static_cast<double>(all);
    if (part >= 0 && group_size > 0) {
      return static_cast<double>(part) * static_cast<double>(group_size);
    }
    return absent("size not recorded");
  };
  switch (kind) {
    case CollectiveKind::kAllGather: return whole(out_elements, in_elements);
    case CollectiveKind::kReduceScatter: return whole(in_elements, out_elements);
    // Only the root sees the whole, so every rank counts its own part times the ranks.
    case CollectiveKind::kGather: return whole(-1, in_elements);
    case CollectiveKind::kScatter: return whole(-1, out_elements);
    case CollectiveKind::kRecv: return either(out_elements, in_elements);
    case CollectiveKind::kBarrier: return absent("carries no data");
    case CollectiveKind::kUnknown: return absent("kind unknown");
    default: return either(in_elements, out_elements);
  }
}

Known<double> BusFactor(CollectiveKind kind, std::int64_t group_size) {
  switch (kind) {
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
    case CollectiveKind::kSend:
    case CollectiveKind::kRecv:
    case CollectiveKind::kSendRecv: return 1.0;
    case CollectiveKind::kBarrier: return Known<double>::Absent("a barrier carries no data");
    case CollectiveKind::kUnknown: return Known<double>::Absent("the collective's kind is unknown");
    default: break;
  }
  if (group_size < 1) return Known<double>::Absent("the size of the process group is unknown");
  const auto n = static_cast<double>(group_size);
  const double part = (n - 1) / n;
  return kind == CollectiveKind::kAllReduce ? 2 * part : part;
}

}  // namespace hone::analyze
