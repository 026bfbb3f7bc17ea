// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::wire {

// Of a chunk: `head` is its first 20 bytes, up to the checksum.
std::uint32_t ChunkChecksum(const std::uint8_t* head, const std::uint8_t* stored,
                            std::size_t size) noexcept;

}  // namespace hone::wire
