// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.h"

namespace hone {
namespace {

// Commas between groups of three in the digits before the point.
std::string Group(std::string digits) {
  std::size_t end = digits.find('.');
  if (end == std::string::npos) end = digits.size();
  const std::size_t first = !digits.empty() && digits[0] == '-' ? 1 : 0;
  for (std::size_t at = end; at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

bool IsNumber(std::string_view word) {
  return word.find_first_not_of("0123456789.,<(-") == std::string_view::npos &&
         word.find_first_of("0123456789") != std::string_view::npos;
}

}  // namespace

std::string WithThousands(std::int64_t value) { return Group(fmt::format("{}", value)); }
std::string WithThousands(std::uint64_t value) { return Group(fmt::format("{}", value)); }

std::string Fixed(double value, int decimals) {
  if (!std::isfinite(value)) return "?";
  if (std::abs(value) >= 1e18) return fmt::format("{:.3g}", value);
  std::string digits = fmt::format("{:.{}f}", value, decimals);
  // "-0.0" would be read as a sign that means something.
  if (digits[0] == '-' && digits.find_first_not_of("-0.") == std::string::npos) digits.erase(0, 1);
  return Group(std::move(digits));
}

std::string ThreeDigits(double value) {
  const double size = std::abs(value);
  // The limits are where rounding to the next coarser form would carry: 9.995 prints as 10.0.
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  if (size == 0) return "0";
  return Fixed(value, decimals);
}

std::string HumanDuration(Nanos duration) {
  if (duration < 0) {
    const Nanos positive = duration == INT64_MIN ? INT64_MAX : -duration;
    return "-" + HumanDuration(positive);
  }
  const auto ns = static_cast<double>(duration);
  if (duration < kMicrosecond) return fmt::format("{} ns", duration);
  if (ns < 999.5e3) return ThreeDigits(ns / 1e3) + " us";
  if (ns < 999.5e6) return ThreeDigits(ns / 1e6) + " ms";
  if (ns < 99.95e9) return ThreeDigits(ns / 1e9) + " s";
  const std::int64_t seconds = duration / kSecond;
  if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {:02} min", WithThousands(seconds / 3600), seconds / 60 % 60);
}

std::string HumanBytes(double bytes) {
  if (!std::isfinite(bytes)) return "?";
  if (bytes < 0) return "-" + HumanBytes(-bytes);
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} B", bytes);
  return fmt::format("{} {}", ThreeDigits(bytes), kUnits[unit]);
}

std::string Percent(double share) {
  if (!std::isfinite(share)) return "?";
  const double percent = share * 100;
  if (percent > 0 && percent < 0.05) return "<0.1 %";
  if (percent == 0) return "0 %";
  if (percent >= 99.95 && percent <= 100) return "100 %";
  return Fixed(percent, 1) + " %";
}

std::string Count(std::uint64_t count, std::string_view one, std::string_view many) {
  if (count == 1) return fmt::format("1 {}", one);
  if (!many.empty()) return fmt::format("{} {}", WithThousands(count), many);
  return fmt::format("{} {}s", WithThousands(count), one);
}

std::string ExactDecimal(std::int64_t value, int decimals) {
  std::uint64_t scale = 1;
  for (int i = 0; i < decimals; ++i) scale *= 10;
  const std::uint64_t size =
      value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
  const char* sign = value < 0 ? "-" : "";
  if (decimals == 0) return fmt::format("{}{}", sign, size);
  return fmt::format("{}{}.{:0{}}", sign, size / scale, size % scale, decimals);
}

// Optimal string alignment: edits plus swaps of neighbours, three rows of the matrix at a time.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::optional<std::string> NearestSpelling(std::string_view word,
                                           std::span<const std::string> candidates) {
  if (word.size() > 100) return std::nullopt;  // no word of ours; and the matrix is quadratic
  std::optional<std::string> nearest;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = EditDistance(word, candidate);
    // Equal to the candidate's whole length means that nothing of it is left.
    if (distance < least && distance < candidate.size()) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::vector<std::string> WrapWords(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::size_t used = 0, at = 0;
  while (true) {
    at = text.find_first_not_of(" \n", at);
    if (at == std::string_view::npos) return lines;
    std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    if (IsNumber(text.substr(at, end - at)) && end + 1 < text.size()) {
      end = std::min(text.find_first_of(" \n", end + 1), text.size());
    }
    const std::string_view word = text.substr(at, end - at);
    const std::size_t columns = DisplayWidth(word);
    if (used != 0 && used + 1 + columns > width) {
      lines.emplace_back();
      used = 0;
    }
    if (used != 0) {
      lines.back() += ' ';
      ++used;
    }
    lines.back() += word;
    used += columns;
    at = end;
  }
}

std::string ShellCommand(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : words) {
    if (!command.empty()) command += ' ';
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return byte >= 0x80 || std::isalnum(byte) != 0 ||
             std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
    });
    if (plain) {
      command += word;
      continue;
    }
    command += '\'';
    for (const char c : word) c == '\'' ? command += "'\\''" : command += c;
    command += '\'';
  }
  return command;
}

}  // namespace hone
