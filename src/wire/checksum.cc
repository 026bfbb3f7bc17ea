// SPDX-License-Identifier: Apache-2.0
#include "wire/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hone::wire {

std::uint32_t ChunkChecksum(const std::uint8_t* head, const std::uint8_t* stored,
                            std::size_t size) noexcept {
  return XXH32(stored, size, XXH32(head, 20, 0));
}

}  // namespace hone::wire
