// SPDX-License-Identifier: Apache-2.0
// UTF-8 for terminals: decoding that survives any bytes, display width, padding, eliding. Names in
// traces come from strangers; nothing here lets a control character or an escape sequence through.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hone {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

struct Utf8Char {
  char32_t code = 0;     // kReplacementCharacter where the bytes are not UTF-8
  std::size_t size = 1;  // bytes taken from the input, at least 1
  bool valid = true;
};

// The character at `at`, which is inside `text`. Overlong forms, surrogates and values above
// U+10FFFF are invalid; an invalid byte takes one byte, so that decoding always goes on.
Utf8Char DecodeUtf8(std::string_view text, std::size_t at);

void AppendUtf8(char32_t code, std::string& out);

// The same text with each invalid byte replaced by U+FFFD.
std::string ValidUtf8(std::string_view text);

// Columns a terminal gives the text: 0 for combining marks, 2 for East Asian wide and emoji.
std::size_t DisplayWidth(std::string_view text);

// Safe to print on one line: control characters (C0, DEL, C1), line separators and bidirectional
// overrides become a visible stand-in, runs of white space one blank. With `utf8` off, everything
// beyond ASCII becomes '?'.
std::string Printable(std::string_view text, bool utf8);

// To exactly `width` columns when the text is narrower; never cuts.
std::string PadRight(std::string_view text, std::size_t width);
std::string PadLeft(std::string_view text, std::size_t width);

// At most `width` columns: keeps both ends, as kernel names differ at both. The mark is "…", or
// "..." without UTF-8. Expects printable text.
std::string ElideMiddle(std::string_view text, std::size_t width, bool utf8);

// Keeps the end, for paths and stacks, whose last part says most.
std::string ElideStart(std::string_view text, std::size_t width, bool utf8);

}  // namespace hone
