// SPDX-License-Identifier: Apache-2.0
// What the category of an event says that it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/trace.h"

namespace hone::importer::kineto {

enum class Category : std::uint8_t {
  kNone,
  kOp,
  kOldOp,  // an operator, or a range of record_function
  kAnnotation,
  kDeviceAnnotation,
  kKernel,
  kCopy,
  kSet,
  kGraph,
  kGraphNode,
  kApi,
  kOs,
  kPython,
  kSync,
  kEvent,
  kOverhead,
  kInstant,
  kFlow,
  kLaunchFlow,
  kSkip,
  kUnknown,
};

// Compares with some forty names; callers remember.
Category FindCategory(std::string_view text);

// Of the host's slices; absent for the device's side and for what stands in other tables. An event
// of no known category is a slice of the kind kOther.
std::optional<trace::SliceKind> HostKindOf(Category category, std::string_view name);

}  // namespace hone::importer::kineto
