// SPDX-License-Identifier: Apache-2.0
// Numbers in files are little endian whatever the machine is. Compilers make one move of each.
#pragma once

#include <cstdint>

namespace hone::wire {

inline void Store16(std::uint8_t* out, std::uint16_t value) {
  out[0] = static_cast<std::uint8_t>(value);
  out[1] = static_cast<std::uint8_t>(value >> 8);
}
inline void Store32(std::uint8_t* out, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) out[i] = static_cast<std::uint8_t>(value >> (8 * i));
}
inline void Store64(std::uint8_t* out, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) out[i] = static_cast<std::uint8_t>(value >> (8 * i));
}
inline std::uint16_t Load16(const std::uint8_t* in) {
  return static_cast<std::uint16_t>(in[0] | in[1] << 8);
}
inline std::uint32_t Load32(const std::uint8_t* in) {
  return static_cast<std::uint32_t>(in[0]) | static_cast<std::uint32_t>(in[1]) << 8 |
         static_cast<std::uint32_t>(in[2]) << 16 | static_cast<std::uint32_t>(in[3]) << 24;
}
inline std::uint64_t Load64(const std::uint8_t* in) {
  return Load32(in) | static_cast<std::uint64_t>(Load32(in + 4)) << 32;
}

}  // namespace hone::wire
