// SPDX-License-Identifier: Apache-2.0
// How text may look where it goes: width, colours, characters.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace hone::report {

enum class Tone { kPlain, kStrong, kFaint, kGood, kWarn, kBad, kCompute, kComm, kCopy, kIdle };

struct Style {
  std::size_t width = 80;
  bool color = false;
  bool utf8 = true;

  std::string Paint(Tone tone, std::string_view text) const;  // codes only with color
  std::string_view dot() const { return utf8 ? " · " : " | "; }
  std::string_view times() const { return utf8 ? "×" : "x"; }
  std::string_view more() const { return utf8 ? "…" : "..."; }
  std::string_view dash() const { return utf8 ? "–" : "-"; }
  std::string_view arrow() const { return utf8 ? " → " : " -> "; }
  // Safe for the terminal, on one line.
  std::string Clean(std::string_view text) const;
  // A bar of `share` (0..1) of `width` columns, in eighths with UTF-8; something for anything > 0.
  std::string Bar(double share, std::size_t width) const;
};

// Lines of `parts` joined by a separator, broken between parts, never inside one; indented.
// `tones` may be shorter than parts.
void WriteParts(const std::vector<std::string>& parts, const std::vector<Tone>& tones,
                std::size_t indent, const Style& style, std::ostream& out);

// "  label      text text text" with the text wrapped under itself.
void WriteLabelled(std::string_view label, std::size_t label_width, std::string_view text,
                   const Style& style, std::ostream& out, Tone label_tone = Tone::kFaint);

}  // namespace hone::report
