// SPDX-License-Identifier: Apache-2.0
#include "analyze/work_class.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/lower_case.h"

namespace hone::analyze {
namespace {

// The one table of communication kernels. Names are compared in lower case; a kernel belongs here
// when one of these stands anywhere in its name, namespaces and template arguments included.
constexpr std::string_view kLibraries[] = {
    "nccl",     // NCCL and RCCL: ncclKernel_*, ncclDevKernel_*, "void ...nccl...", MSCCL
    "rccl",     // rcclGenericKernel
    "mscclpp",  // MSCCL++
    "oneccl",
    "oneapi::ccl",
    "hccl",
    "hcom_",  // Habana and Ascend
    "nvshmem",
    "rocshmem",
    "ishmem",
    "deep_ep::",  // DeepEP dispatch and combine
    "deepep",
    "mori::moe",  // ROCm's expert-parallel dispatch and combine
    "pplx::",
    "userbuffers",          // Transformer Engine
    "symmetric_memory::",   // torch.distributed._symmetric_memory
    "cross_device_reduce",  // vLLM, SGLang, aiter custom all-reduce
    "quickreduce",
    "quick_reduce",  // vLLM on ROCm
    "lamport",       // TensorRT-LLM and FlashInfer one-shot kernels
    "multimem_",     // NVLS kernels: multimem_all_reduce, multimem_one_shot
    "allreduce_fusion",
    "custom_all_reduce",
    "custom_allreduce",
    "customallreduce",
};

// Collectives by their own name. They count only in the name of the function itself: as a template
// argument the same words mean a reduction inside a block (WarpAllReduce).
constexpr std::string_view kCollectives[] = {
    "all_reduce",    "allreduce",  "all_gather", "allgather",    "reduce_scatter",
    "reducescatter", "all_to_all", "alltoall",   "one_shot_all", "two_shot_all",
};

// Reductions within one block or warp, and code that Inductor generates, whose names list the
// operators whose results it reads ("triton_poi_fused_all_reduce_add_0").
constexpr std::string_view kNotCollective[] = {"warp", "block", "thread", "triton_"};

// Kernels that ROCm launches for copies (trace-level names of ROCm 6 and 7).
constexpr std::string_view kCopyKernels[] = {"memory_copy_", "__amd_rocclr_copybuffer",
                                             "__amd_rocclr_copyimage"};

template <std::size_t n>
bool ContainsAny(std::string_view text, const std::string_view (&needles)[n]) {
  return std::any_of(std::begin(needles), std::end(needles), [&](std::string_view needle) {
    return text.find(needle) != std::string_view::npos;
  });
}

// "void ns::(anonymous namespace)::kernel<int>(float*)" -> "kernel". Text inside <> and () is
// skipped; a name that opens a bracket and never closes it was cut by its writer.
std::string_view FunctionName(std::string_view name) {
  std::size_t begin = 0, end = name.size();
  bool ended = false;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '<' || c == '(') {
      if (depth++ == 0 && !ended) {
        end = i;
        ended = true;
      }
    } else if (c == '>' || c == ')') {
      depth = std::max(depth - 1, 0);
    } else if (depth == 0 && (c == ' ' || c == ':')) {
      // A scope or a return type goes before; what stood so far was not the function. The blank in
      // "kernel(int) [clone]" comes after the arguments and ends nothing.
      if (c == ' ' && ended) break;
      begin = i + 1;
      end = name.size();
      ended = false;
    }
  }
  return name.substr(begin, end - begin);
}

bool IsCommunicationLower(std::string_view lower) {
  if (ContainsAny(lower, kLibraries)) return !lower.starts_with("triton_");
  const std::string_view function = FunctionName(lower);
  return ContainsAny(function, kCollectives) && !ContainsAny(function, kNotCollective);
}

WorkClass ClassOfKernel(std::string_view name) {
  const std::string lower = LowerCase(name);
  if (IsCommunicationLower(lower)) return WorkClass::kCommunication;
  const bool copy = std::any_of(std::begin(kCopyKernels), std::end(kCopyKernels),
                                [&](std::string_view p) { return lower.starts_with(p); });
  return copy ? WorkClass::kCopy : WorkClass::kCompute;
}

}  // namespace

bool IsCommunicationName(std::string_view kernel_name) {
  return IsCommunicationLower(LowerCase(kernel_name));
}

WorkClasses::WorkClasses(const trace::Trace& trace) {
  const trace::DeviceWork& device = trace.device;
  constexpr std::uint8_t kUnseen = 255;
  std::vector<std::uint8_t> by_name(trace.strings.size(), kUnseen);
  classes_.resize(device.size(), WorkClass::kCompute);
  for (trace::RowId i = 0; i < device.size(); ++i) {
    switch (device.kind[i]) {
      case trace::WorkKind::kCopy: classes_[i] = WorkClass::kCopy; break;
      case trace::WorkKind::kSet:
      case trace::WorkKind::kGraph: break;
      case trace::WorkKind::kKernel: {
        if (device.collective[i] != 0) {
          classes_[i] = WorkClass::kCommunication;
          break;
        }
        std::uint8_t& known = by_name[static_cast<std::uint32_t>(device.name[i])];
        if (known == kUnseen) {
          known = static_cast<std::uint8_t>(ClassOfKernel(trace.DeviceName(i)));
        }
        classes_[i] = static_cast<WorkClass>(known);
        break;
      }
    }
  }
}

}  // namespace hone::analyze
