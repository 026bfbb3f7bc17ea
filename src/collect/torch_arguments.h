// SPDX-License-Identifier: Apache-2.0
// Arguments of a running operator as text, as Kineto writes them: dims, types and plain values.
#pragma once

#include <cstdint>

namespace hone::collect {

// The name (collect/names.h) of "dims\x1ftypes\x1fvalues" of this operator's arguments; kUnnamed
// when they cannot be read. Reads torch's objects in place, calls nothing of it. The operator must
// have been started with a callback that asked for inputs. About 1 us: for sampled steps.
std::uint32_t ArgumentsOf(const void* function) noexcept;

inline constexpr char kArgumentsSeparator = '\x1f';

}  // namespace hone::collect
