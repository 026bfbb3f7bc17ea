// SPDX-License-Identifier: Apache-2.0
#include "import/kineto/category.h"

#include <algorithm>

#include "base/lower_case.h"
#include "base/torch_scope.h"

namespace hone::importer::kineto {
namespace {

using trace::SliceKind;

// Until 2022 ranges of record_function stood in the file as operators. The name of an operator is
// one word ("AddmmBackward0", "<forward op>") or has a namespace ("aten::mm"); all others are
// labels that somebody wrote: "ProfilerStep#3", "step 12", "DistributedDataParallel.forward". A
// label of one word cannot be told.
bool NamesRange(std::string_view name) {
  if (name.empty() || name.front() == '<' || name.find("::") != std::string_view::npos) {
    return false;
  }
  return std::any_of(name.begin(), name.end(), [](char c) {
    const char lower = LowerCase(c);
    return c != '_' && !(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9');
  });
}

}  // namespace

Category FindCategory(std::string_view text) {
  struct Entry {
    std::string_view name;
    Category category;
  };
  // Every name since 2021, other vendors' included; compared without case.
  static constexpr Entry kCategories[] = {
      {"cpu_op", Category::kOp},
      {"operator", Category::kOldOp},
      {"hpu_op", Category::kOp},
      {"user_annotation", Category::kAnnotation},
      {"collective_comm", Category::kAnnotation},
      {"gpu_user_annotation", Category::kDeviceAnnotation},
      {"kernel", Category::kKernel},
      {"mtia_ccp_events", Category::kKernel},
      {"gpu_memcpy", Category::kCopy},
      {"memcpy", Category::kCopy},
      {"gpu_memset", Category::kSet},
      {"memset", Category::kSet},
      {"cuda_runtime", Category::kApi},
      {"cuda_driver", Category::kApi},
      {"runtime", Category::kApi},
      {"hip_runtime", Category::kApi},
      {"xpu_runtime", Category::kApi},
      {"xpu_driver", Category::kApi},
      {"mtia_runtime", Category::kApi},
      {"glow_runtime", Category::kApi},
      {"privateuse1_runtime", Category::kApi},
      {"privateuse1_driver", Category::kApi},
      {"python_function", Category::kPython},
      {"python", Category::kPython},
      {"cuda_sync", Category::kSync},
      {"xpu_sync", Category::kSync},
      {"cuda_event", Category::kEvent},
      {"overhead", Category::kOverhead},
      {"cpu_instant_event", Category::kInstant},
      {"memory", Category::kInstant},
      {"fwdbwd", Category::kFlow},
      {"forward_backward", Category::kFlow},
      {"ac2g", Category::kLaunchFlow},
      {"async_cpu_to_gpu", Category::kLaunchFlow},
      {"async_gpu", Category::kLaunchFlow},
      // hone export's, for what Nsight Systems records and PyTorch does not.
      {"os_runtime", Category::kOs},
      {"gpu_graph", Category::kGraph},
      {"cuda_graph_node", Category::kGraphNode},
      {"trace", Category::kSkip},
      {"hardware_counters", Category::kSkip},
      {"mtia_counters", Category::kSkip},
      {"", Category::kNone},
  };
  const auto same = [](char a, char b) { return LowerCase(a) == b; };
  for (const Entry& entry : kCategories) {
    if (std::equal(text.begin(), text.end(), entry.name.begin(), entry.name.end(), same)) {
      return entry.category;
    }
  }
  return Category::kUnknown;
}

std::optional<SliceKind> HostKindOf(Category category, std::string_view name) {
  switch (category) {
    case Category::kOp: return IsTorchScope(name) ? SliceKind::kAnnotation : SliceKind::kOp;
    case Category::kOldOp: return NamesRange(name) ? SliceKind::kAnnotation : SliceKind::kOp;
    case Category::kAnnotation: return SliceKind::kAnnotation;
    case Category::kApi: return SliceKind::kApi;
    case Category::kPython: return SliceKind::kPython;
    case Category::kOverhead: return SliceKind::kOverhead;
    case Category::kGraphNode: return SliceKind::kGraphNode;
    case Category::kOs: return SliceKind::kOs;
    case Category::kKernel:
    case Category::kCopy:
    case Category::kSet:
    case Category::kGraph:
    case Category::kDeviceAnnotation:
    case Category::kSync:
    case Category::kEvent:
    case Category::kSkip: return std::nullopt;
    default: return SliceKind::kOther;
  }
}

}  // namespace hone::importer::kineto
