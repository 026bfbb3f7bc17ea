// SPDX-License-Identifier: Apache-2.0
// Kernel names for people: C++ signatures run to hundreds of characters, and what tells kernels
// apart is in the middle of them.
#pragma once

#include <string>
#include <string_view>

namespace hone::report {

// Without the return type, the parameter list and PyTorch's own namespaces:
// "void at::native::vectorized_elementwise_kernel<4, …>(int, …)" gives
// "vectorized_elementwise_kernel<4, …>". Other names stay as they are.
std::string ShortKernelName(std::string_view name);

}  // namespace hone::report
