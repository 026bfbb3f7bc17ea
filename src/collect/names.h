// SPDX-License-Identifier: Apache-2.0
// Names: strings that recorded rows refer to, each stored once per process.
//
// Intern is called on the program's own threads, a few million times a second at worst: no lock, no
// allocation but from an arena of its own, bounded. When the arena is full every new name becomes
// kUnnamed, and that is counted.
#pragma once

#include <cstdint>
#include <string_view>

namespace hone::collect {

inline constexpr std::uint32_t kUnnamed = 0;  // "(unnamed: …)" in the file

// The id of this text; ids count from 1 without gaps.
std::uint32_t InternName(std::string_view text) noexcept;

// As InternName for a text whose address is often the same: a look by address first, and the text
// compared, so an address that was used again for another text is harmless.
std::uint32_t InternNameAt(const char* text) noexcept;

std::uint32_t NameCount() noexcept;                    // ids given out: 1 … count
std::string_view NameText(std::uint32_t id) noexcept;  // valid for ever
std::uint64_t NamesLost() noexcept;

// In the child of a fork: names stay, the holder of the lock does not.
void ForkedNames() noexcept;

}  // namespace hone::collect
