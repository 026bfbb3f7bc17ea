// SPDX-License-Identifier: Apache-2.0
// What names and metadata tell about a collective: its kind, its data type, its message size, and
// what its bandwidth is worth on the wire.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/known.h"

namespace hone::analyze {

enum class CollectiveKind : std::uint8_t {
  kUnknown,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kReduce,
  kSend,
  kRecv,
  kSendRecv,  // a send-receive kernel and nothing that says what for (point to point, all-to-all)
  kBarrier,
  kGather,
  kScatter,
};
const char* CollectiveKindName(CollectiveKind kind);  // "all_reduce"; "unknown"

// From the name of a collective ("_allgather_base", "nccl:all_to_all", "gloo:all_reduce",
// "c10d::allreduce_") or of a kernel, old and new ("ncclKernel_AllReduce_RING_LL_Sum_float(…)",
// "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(…)"). Case and underscores do not matter; template and
// call arguments are not looked at.
CollectiveKind KindFromName(std::string_view name);

struct DataType {
  std::string_view name;  // "bfloat16"; empty: unknown
  double bytes = -1;      // of one element; -1 unknown
};
// "Float", "BFloat16", "Float8_e4m3fn" (metadata), "c10::Half", "long int" (operator arguments).
DataType DataTypeFromText(std::string_view text);
// From an NCCL kernel's name, for reductions only: NCCL moves everything else as bytes and writes
// "int8" whatever the tensor holds.
DataType DataTypeFromKernel(std::string_view kernel_name, CollectiveKind kind);

// The size that nccl-tests prints, in elements: what every rank holds together after a gather or
// before a scatter, what one rank puts in otherwise. Negative inputs mean "not recorded".
Known<double> MessageElements(CollectiveKind kind, std::int64_t in_elements,
                              std::int64_t out_elements, std::int64_t group_size);

// Bus bandwidth = algorithm bandwidth · factor (nccl-tests, doc/PERFORMANCE.md): what the links
// carry, comparable with the hardware's figure whatever the number of ranks.
Known<double> BusFactor(CollectiveKind kind, std::int64_t group_size);

}  // namespace hone::analyze
