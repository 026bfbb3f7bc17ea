// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace hone::importer::nsys {

// How many records this message of DIAGNOSTIC_EVENT says were lost: 0 when it says no such thing,
// 1 when it gives no number.
//
// "Not all CUDA events might have been collected." is no such message: nsys writes it into most
// healthy reports of programs that end without cudaProfilerStop.
std::uint64_t DroppedRecords(std::string_view message);

}  // namespace hone::importer::nsys
