// SPDX-License-Identifier: Apache-2.0
#include "collect/python_text.h"

#include <algorithm>
#include <cstring>

#include "collect/foreign_memory.h"

namespace hone::collect {
namespace {

// Four characters each, stored with 1 (ASCII), 1, 2 and 4 bytes a character. No other string of a
// program is likely to be one of these, so they are not interned before.
constexpr const char* kSamples[4] = {"hQz~", "h\u00e9\u00e8\u00ea", "h\u03a9\u03b1\u03b2",
                                     "h\U0001d518\U0001d519\U0001d51a"};
constexpr std::uint32_t kCharacters[4][4] = {{'h', 'Q', 'z', '~'},
                                             {'h', 0xe9, 0xe8, 0xea},
                                             {'h', 0x3a9, 0x3b1, 0x3b2},
                                             {'h', 0x1d518, 0x1d519, 0x1d51a}};
constexpr int kWidths[4] = {1, 1, 2, 4};
constexpr std::size_t kHeader = 128;  // a string object's fixed part: 72 at most so far

std::uint32_t CharacterAt(const std::uint8_t* data, int width, std::size_t index) noexcept {
  std::uint32_t value = 0;
  std::memcpy(&value, data + index * static_cast<std::size_t>(width),
              static_cast<std::size_t>(width));
  return value;
}

// Where the object keeps the characters of sample `which`; 0 when nowhere.
std::uint16_t FindData(const std::uint8_t* object, std::size_t bytes, int which) noexcept {
  const auto width = static_cast<std::size_t>(kWidths[which]);
  for (std::size_t at = 24; at + 4 * width <= bytes; at += width) {
    bool same = true;
    for (std::size_t i = 0; i < 4 && same; ++i) {
      same = CharacterAt(object + at, kWidths[which], i) == kCharacters[which][i];
    }
    if (same) return static_cast<std::uint16_t>(at);
  }
  return 0;
}

// One byte tells the four apart; of the bits around it some are never written and hold anything.
const char* FindState(const std::uint8_t (*objects)[kHeader], TextLayout* layout) noexcept {
  constexpr std::uint64_t kLength = 4;
  std::uint64_t length = 0;
  std::memcpy(&length, objects[0] + 16, sizeof(length));
  if (length != kLength) return "the length of strings";
  layout->length = 16;
  for (std::uint16_t at = 24; at < layout->data[0]; ++at) {
    bool different = true;
    unsigned mask = 0;
    for (int i = 0; i < 4; ++i) {
      for (int k = i + 1; k < 4; ++k) {
        different = different && objects[i][at] != objects[k][at];
        mask |= objects[i][at] ^ objects[k][at];
      }
    }
    if (!different) continue;
    layout->state = at;
    layout->mask = static_cast<std::uint8_t>(mask);
    for (int i = 0; i < 4; ++i) {
      layout->states[i] = static_cast<std::uint8_t>(objects[i][at] & mask);
    }
    return nullptr;
  }
  return "how strings say their width";
}

std::size_t AppendUtf8(std::uint32_t character, char* to) noexcept {
  const auto put = [&](std::size_t i, std::uint32_t value) { to[i] = static_cast<char>(value); };
  if (character < 0x80) {
    put(0, character);
    return 1;
  }
  if (character < 0x800) {
    put(0, 0xc0 | character >> 6);
    put(1, 0x80 | (character & 63));
    return 2;
  }
  if (character >= 0xd800 && character < 0xe000) character = 0xfffd;  // a lone surrogate
  if (character < 0x10000) {
    put(0, 0xe0 | character >> 12);
    put(1, 0x80 | (character >> 6 & 63));
    put(2, 0x80 | (character & 63));
    return 3;
  }
  put(0, 0xf0 | (character >> 18 & 7));
  put(1, 0x80 | (character >> 12 & 63));
  put(2, 0x80 | (character >> 6 & 63));
  put(3, 0x80 | (character & 63));
  return 4;
}

}  // namespace

const char* LearnText(const PythonApi& api, TextLayout* layout) noexcept {
  std::uint8_t objects[4][kHeader] = {};
  for (int i = 0; i < 4; ++i) {
    const PyAddress object = api.PyUnicode_FromString(kSamples[i]);
    if (object == 0) {
      api.PyErr_Clear();
      return "a string of our own";
    }
    const std::size_t got = ReadForeignUpTo(object, objects[i], kHeader);
    api.Py_DecRef(object);
    layout->data[i] = FindData(objects[i], got, i);
    if (layout->data[i] == 0) return "the characters of strings";
  }
  return FindState(objects, layout);
}

int ReadText(const PythonLayout& layout, PyAddress object, char* to, std::size_t most) noexcept {
  const TextLayout& text = layout.text;
  std::uint8_t header[kHeader];
  if (!ReadForeign(object, header, text.state + std::size_t{1})) return -1;
  PyAddress type = 0;
  std::uint64_t length = 0;
  std::memcpy(&type, header + layout.object_type, sizeof(type));
  std::memcpy(&length, header + text.length, sizeof(length));
  const std::uint8_t state = header[text.state];
  if (type != layout.text_type || length > (std::uint64_t{1} << 20)) return -1;
  int which = 0;
  while (which < 4 && (state & text.mask) != text.states[which]) ++which;
  if (which == 4) return -1;

  const auto width = static_cast<std::size_t>(kWidths[which]);
  std::uint8_t part[512];
  std::size_t written = 0;
  const std::size_t step = sizeof(part) / width;
  for (std::size_t begin = 0; begin < length; begin += step) {
    const std::size_t count = std::min<std::size_t>(step, length - begin);
    if (!ReadForeign(object + text.data[which] + begin * width, part, count * width)) return -1;
    for (std::size_t i = 0; i < count; ++i) {
      if (written + 4 > most) return static_cast<int>(written);
      const std::uint32_t character = CharacterAt(part, kWidths[which], i);
      if (character > 0x10ffff) return -1;  // not a string any more
      // A zero would end the name for whoever reads it as C does.
      written += AppendUtf8(character == 0 ? 0xfffd : character, to + written);
    }
  }
  return static_cast<int>(written);
}

}  // namespace hone::collect
