// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace hone::collect {

void CudaYield(const char* who) noexcept;
void CudaResume() noexcept;

}  // namespace hone::collect
