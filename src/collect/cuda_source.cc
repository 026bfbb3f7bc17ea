// SPDX-License-Identifier: Apache-2.0
#include "collect/cuda_source.h"

namespace hone::collect {

void CudaYield(const char*) noexcept {}
void CudaResume() noexcept {}

}  // namespace hone::collect
