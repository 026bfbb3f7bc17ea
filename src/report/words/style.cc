// SPDX-License-Identifier: Apache-2.0
#include "report/words/style.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/utf8.h"

namespace hone::report {
namespace {

// The eight basic colours only: they follow the user's theme and exist everywhere.
const char* Code(Tone tone) {
  switch (tone) {
    case Tone::kPlain: return "";
    case Tone::kStrong: return "\033[1m";
    case Tone::kFaint: return "\033[2m";
    case Tone::kGood: return "\033[32m";
    case Tone::kWarn: return "\033[33m";
    case Tone::kBad: return "\033[31m";
    case Tone::kCompute: return "\033[32m";
    case Tone::kComm: return "\033[36m";
    case Tone::kCopy: return "\033[35m";
    case Tone::kIdle: return "\033[33m";
  }
  return "";
}

}  // namespace

std::string Style::Paint(Tone tone, std::string_view text) const {
  if (!color || tone == Tone::kPlain || text.empty()) return std::string(text);
  return Code(tone) + std::string(text) + "\033[0m";
}

std::string Style::Clean(std::string_view text) const { return Printable(text, utf8); }

std::string Style::Bar(double share, std::size_t bar_width) const {
  if (!(share > 0)) return "";
  share = std::min(share, 1.0);
  std::string bar;
  if (!utf8) {
    const auto full = static_cast<std::size_t>(std::lround(share * static_cast<double>(bar_width)));
    return std::string(std::max<std::size_t>(full, 1), '#');
  }
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = std::max<std::size_t>(
      1, static_cast<std::size_t>(std::lround(share * static_cast<double>(bar_width) * 8)));
  for (std::size_t i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kEighths[eighths % 8];
}

void WriteParts(const std::vector<std::string>& parts, const std::vector<Tone>& tones,
                std::size_t indent, const Style& style, std::ostream& out) {
  const std::string_view dot = style.dot();
  std::size_t used = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string part = ElideMiddle(parts[i], style.width - indent, style.utf8);
    const std::size_t columns = DisplayWidth(part);
    if (used == 0) {
      out << std::string(indent, ' ');
      used = indent;
    } else if (used + DisplayWidth(dot) + columns > style.width) {
      out << '\n' << std::string(indent, ' ');
      used = indent;
    } else {
      out << dot;
      used += DisplayWidth(dot);
    }
    out << style.Paint(i < tones.size() ? tones[i] : Tone::kPlain, part);
    used += columns;
  }
  if (!parts.empty()) out << '\n';
}

void WriteLabelled(std::string_view label, std::size_t label_width, std::string_view text,
                   const Style& style, std::ostream& out, Tone label_tone) {
  const std::size_t indent = label_width + 2;
  bool first = true;
  for (std::string line : WrapWords(text, style.width - indent)) {
    // A single word may be wider than the line.
    line = ElideMiddle(line, style.width - indent, style.utf8);
    const std::string front = first ? PadRight(label, label_width) : std::string(label_width, ' ');
    out << "  " << style.Paint(first ? label_tone : Tone::kPlain, front) << line << '\n';
    first = false;
  }
}

}  // namespace hone::report
