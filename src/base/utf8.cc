// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <algorithm>
#include <iterator>

namespace hone {
namespace {

struct Range {
  char32_t first, last;
};

// Marks that take no column (Unicode 15, general categories Mn and Me of the common scripts, and
// the zero-width characters). Rare scripts are left out: the cost of a miss is a crooked column.
constexpr Range kZeroWidth[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},   {0x064B, 0x065F},
    {0x0900, 0x0902}, {0x093A, 0x093C}, {0x0941, 0x0948}, {0x0E31, 0x0E31},   {0x0E34, 0x0E3A},
    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200D}, {0x20D0, 0x20FF},   {0x3099, 0x309A},
    {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
};

// East Asian Width W and F, and emoji presentation, merged to ranges.
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x25FD, 0x25FE},
    {0x2614, 0x2615},   {0x2648, 0x2653},   {0x2693, 0x2693},   {0x26A1, 0x26A1},
    {0x26BD, 0x26BE},   {0x2705, 0x2705},   {0x274C, 0x274C},   {0x2753, 0x2755},
    {0x2795, 0x2797},   {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2E80, 0x303E},
    {0x3041, 0x33FF},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},
    {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
    {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18AFF}, {0x1B000, 0x1B2FF},
    {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F19A}, {0x1F200, 0x1F320},
    {0x1F32D, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F7E0, 0x1F7EB}, {0x1F90C, 0x1FAFF},
    {0x20000, 0x3FFFD},
};

template <std::size_t n>
bool Contains(const Range (&ranges)[n], char32_t code) {
  const Range* range =
      std::lower_bound(std::begin(ranges), std::end(ranges), code,
                       [](const Range& r, char32_t value) { return r.last < value; });
  return range != std::end(ranges) && range->first <= code;
}

std::size_t WidthOf(char32_t code) {
  if (code < 0x300) return 1;
  if (Contains(kZeroWidth, code)) return 0;
  return Contains(kWide, code) ? 2 : 1;
}

// Characters that steer a terminal or reorder a line.
bool IsUnsafe(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029 ||
         (code >= 0x200B && code <= 0x200F) || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB);
}

// Bytes of `text` that fit into `width` columns from the front.
std::size_t FrontBytes(std::string_view text, std::size_t width) {
  std::size_t at = 0, used = 0;
  while (at < text.size()) {
    const Utf8Char c = DecodeUtf8(text, at);
    const std::size_t columns = WidthOf(c.code);
    if (used + columns > width) break;
    used += columns;
    at += c.size;
  }
  return at;
}

// Offset from which the rest of `text` fits into `width` columns.
std::size_t BackOffset(std::string_view text, std::size_t width) {
  std::size_t total = DisplayWidth(text), at = 0;
  while (at < text.size() && total > width) {
    const Utf8Char c = DecodeUtf8(text, at);
    total -= WidthOf(c.code);
    at += c.size;
  }
  // A combining mark without its base would sit on the elision mark.
  while (at < text.size()) {
    const Utf8Char c = DecodeUtf8(text, at);
    if (WidthOf(c.code) != 0) break;
    at += c.size;
  }
  return at;
}

std::string_view Mark(std::size_t width, bool utf8) {
  if (utf8) return "…";
  return std::string_view("...").substr(0, width < 7 ? 1 : 3);
}

}  // namespace

Utf8Char DecodeUtf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return {lead, 1, true};
  const Utf8Char invalid{kReplacementCharacter, 1, false};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + size > text.size()) return invalid;
  char32_t code = lead & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return invalid;
    code = code << 6 | (byte(at + i) & 0x3Fu);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[size] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return invalid;
  return {code, size, true};
}

void AppendUtf8(char32_t code, std::string& out) {
  const auto tail = [&](int shift) {
    out.push_back(static_cast<char>(0x80 | (code >> shift & 0x3F)));
  };
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0 | code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | code >> 12));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<char>(0xF0 | code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string ValidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text, at);
    if (c.valid) {
      out.append(text.substr(at, c.size));
    } else {
      AppendUtf8(kReplacementCharacter, out);
    }
    at += c.size;
  }
  return out;
}

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text, at);
    width += WidthOf(c.code);
    at += c.size;
  }
  return width;
}

std::string Printable(std::string_view text, bool utf8) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text, at);
    if (c.code == ' ' || c.code == '\t' || c.code == '\n' || c.code == '\r') {
      if (out.empty() || out.back() != ' ') out.push_back(' ');
    } else if (c.code >= 0x20 && c.code < 0x7F) {
      out.push_back(static_cast<char>(c.code));
    } else if (!utf8) {
      out.push_back('?');
    } else {
      AppendUtf8(IsUnsafe(c.code) ? kReplacementCharacter : c.code, out);
    }
    at += c.size;
  }
  return out;
}

std::string PadRight(std::string_view text, std::size_t width) {
  const std::size_t used = DisplayWidth(text);
  std::string out(text);
  if (used < width) out.append(width - used, ' ');
  return out;
}

std::string PadLeft(std::string_view text, std::size_t width) {
  const std::size_t used = DisplayWidth(text);
  return used < width ? std::string(width - used, ' ') + std::string(text) : std::string(text);
}

std::string ElideMiddle(std::string_view text, std::size_t width, bool utf8) {
  if (DisplayWidth(text) <= width) return std::string(text);
  const std::string_view mark = Mark(width, utf8);
  const std::size_t mark_width = DisplayWidth(mark);
  if (width <= mark_width) return std::string(text.substr(0, FrontBytes(text, width)));
  const std::size_t keep = width - mark_width;
  const std::size_t front = (keep + 1) / 2;
  std::string out(text.substr(0, FrontBytes(text, front)));
  out += mark;
  out += text.substr(BackOffset(text, keep - front));
  return out;
}

std::string ElideStart(std::string_view text, std::size_t width, bool utf8) {
  if (DisplayWidth(text) <= width) return std::string(text);
  const std::string_view mark = Mark(width, utf8);
  const std::size_t mark_width = DisplayWidth(mark);
  if (width <= mark_width) return std::string(text.substr(0, FrontBytes(text, width)));
  return std::string(mark) + std::string(text.substr(BackOffset(text, width - mark_width)));
}

}  // namespace hone
