// SPDX-License-Identifier: Apache-2.0
#include "import/kineto/recovery.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <cstring>

#include "base/text.h"
#include "import/kineto/white_space.h"
#include "import/kineto/window_reader.h"

namespace hone::importer::kineto {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

// Next place at or behind `from` where an event starts: an opening brace with an event's key in
// it, behind a comma or an opening bracket.
std::size_t NextEventStart(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find('{', from); at != kNone; at = text.find('{', at + 1)) {
    if (!LooksLikeEventStart(text, at)) continue;
    std::size_t back = at;
    while (back > 0 && IsSpace(text[back - 1])) --back;
    if (back == 0 || text[back - 1] == ',' || text[back - 1] == '[') return at;
  }
  return kNone;
}

// A quote inside a string ends it only when what follows could follow a string.
bool EndsString(std::string_view text, std::size_t quote) {
  const std::size_t after = SkipSpace(text, quote + 1);
  if (after >= text.size()) return true;
  if (text[after] == ':' || text[after] == '}' || text[after] == ']') return true;
  if (text[after] != ',') return false;
  const std::size_t next = SkipSpace(text, after + 1);
  return next >= text.size() || std::strchr("\"{[}]-0123456789tfn", text[next]) != nullptr;
}

// Length of the valid UTF-8 sequence at text[at], or 0.
std::size_t Utf8Length(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || at + length > text.size()) return 0;
  return simdjson::validate_utf8(text.data() + at, length) ? length : 0;
}

bool ValidEscape(std::string_view text, std::size_t backslash) {
  if (backslash + 1 >= text.size()) return false;
  const char escape = text[backslash + 1];
  if (escape != 'u') return std::strchr("\"\\/bfnrt", escape) != nullptr && escape != '\0';
  if (backslash + 6 > text.size()) return false;
  for (std::size_t i = backslash + 2; i < backslash + 6; ++i) {
    if (std::isxdigit(static_cast<unsigned char>(text[i])) == 0) return false;
  }
  return true;
}

// Appends the string that starts at text[quote], repaired; returns the index behind it.
std::size_t RepairString(std::string_view text, std::size_t quote, std::string& out) {
  out += '"';
  std::size_t i = quote + 1;
  while (i < text.size()) {
    const char c = text[i];
    if (c == '"') {
      if (EndsString(text, i)) {
        out += '"';
        return i + 1;
      }
      out += "\\\"";
      ++i;
    } else if (c == '\\') {
      if (ValidEscape(text, i)) {
        out += c;
        out += text[i + 1];
        i += 2;
      } else {
        out += "\\\\";
        ++i;
      }
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += ' ';
      ++i;
    } else if (const std::size_t length = Utf8Length(text, i); length > 0) {
      out.append(text.substr(i, length));
      i += length;
    } else {
      out += "\xEF\xBF\xBD";  // U+FFFD
      ++i;
    }
  }
  return i;
}

}  // namespace

std::size_t BracketEnd(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i) {
          if (text[i] == '\\') ++i;
        }
        break;
      case '{':
      case '[': ++depth; break;
      case '}':
      case ']':
        if (--depth == 0) return i + 1;
        break;
      default: break;
    }
  }
  return kNone;
}

std::string RepairJson(std::string_view piece) {
  std::string out;
  out.reserve(piece.size() + 16);
  for (std::size_t i = 0; i < piece.size();) {
    const char c = piece[i];
    if (c == '"') {
      i = RepairString(piece, i, out);
      continue;
    }
    ++i;
    if (c == ',') {
      const std::size_t next = SkipSpace(piece, i);
      if (next < piece.size() && (piece[next] == '}' || piece[next] == ']' || piece[next] == ',')) {
        continue;
      }
    }
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x80 ? ' ' : c;
  }
  return out;
}

bool Recovery::ParseObject(std::string_view object) {
  scratch_.clear();
  scratch_ += '[';
  scratch_ += object;
  scratch_ += ']';
  const std::size_t size = scratch_.size();
  scratch_.append(kWindowPadding, ' ');
  parser_.Index(std::string_view(scratch_.data(), size));
  return parser_.Walk(sink_).complete;
}

// Reads the event at the start of `piece` and sets *end behind it.
bool Recovery::ReadPiece(std::string_view piece, std::size_t* end) {
  *end = BracketEnd(piece, 0);
  if (*end != kNone && ParseObject(piece.substr(0, *end))) return true;
  const std::string repaired = RepairJson(piece);
  const std::size_t repaired_end = BracketEnd(repaired, 0);
  if (repaired_end == kNone || !ParseObject(std::string_view(repaired).substr(0, repaired_end))) {
    return false;
  }
  losses_.Add(LossKind::kRepairedEvent);
  // Repair keeps what follows the object as it is but for bytes that do not matter there.
  *end = piece.size() - std::min(piece.size(), repaired.size() - repaired_end);
  return true;
}

void Recovery::Read(std::string_view text, std::uint64_t offset, bool in_header, bool last,
                    bool array_form) {
  std::size_t at = 0;
  if (in_header) {
    at = text.find("\"traceEvents\"");
    if (at == kNone) at = array_form ? 0 : text.size();
    if (!ReadHeader(text.substr(0, at))) {
      ReadKnownKeys(text.substr(0, at));
      losses_.Add(LossKind::kUnreadableMetadata, at > 0 ? 1 : 0, 0, "before the events");
    }
  }
  at = NextEventStart(text, at);
  if (at == kNone) {
    ReadKnownKeys(text);
    if (last && !array_form) NoteEnd(text, offset);
    return;
  }
  // A nested object can look like an event; an event may then need more than one piece.
  constexpr int kMostPieces = 4;
  std::size_t end_of_events = at;
  bool complete = true;
  while (at != kNone) {
    std::size_t next = NextEventStart(text, at + 1);
    std::size_t end = kNone;
    complete = ReadPiece(text.substr(at, next == kNone ? kNone : next - at), &end);
    std::size_t after = next;
    for (int pieces = 1; !complete && pieces < kMostPieces && after != kNone; ++pieces) {
      after = NextEventStart(text, after + 1);
      const std::string_view longer = text.substr(at, after == kNone ? kNone : after - at);
      end = BracketEnd(longer, 0);
      complete = end != kNone && ParseObject(longer.substr(0, end));
      if (complete) next = after;
    }
    if (complete) {
      end_of_events = at + end;
    } else if (next != kNone || !last) {
      losses_.Add(LossKind::kUnreadableEvent, 1, 0, "byte " + WithThousands(offset + at));
    }
    at = next;
  }
  if (!last) return;
  std::size_t close = SkipSpace(text, end_of_events);
  if (close < text.size() && text[close] == ',') close = SkipSpace(text, close + 1);
  const bool closed = complete && close < text.size() && text[close] == ']';
  if (closed) {
    ReadKnownKeys(text.substr(close));
  } else if (!complete || !array_form) {
    losses_.Add(LossKind::kTruncatedInput, 1, 0, "byte " + WithThousands(offset + text.size()));
  }
}

// The fields before the events, when they are well-formed by themselves and only an event is not.
bool Recovery::ReadHeader(std::string_view header) {
  scratch_.assign(header);
  scratch_ += "\"traceEvents\":[]}";
  const std::size_t size = scratch_.size();
  scratch_.append(kWindowPadding, ' ');
  parser_.Index(std::string_view(scratch_.data(), size));
  return parser_.Walk(sink_).complete;
}

// What stands behind the last event: a closing bracket, perhaps behind a stray comma, or a
// file-level key that could not be read. Without either the file was cut.
void Recovery::NoteEnd(std::string_view text, std::uint64_t offset) {
  std::size_t first = SkipSpace(text, 0);
  if (first < text.size() && text[first] == ',') first = SkipSpace(text, first + 1);
  if (first < text.size() && text[first] == ']') return;
  const std::size_t tail = text.find_last_not_of(" \t\r\n");
  if (first < text.size() && text[first] == '"' && text[tail] == '}') {
    losses_.Add(LossKind::kUnreadableMetadata, 1, 0, "behind the events");
    return;
  }
  losses_.Add(LossKind::kTruncatedInput, 1, 0, "byte " + WithThousands(offset + text.size()));
}

// File-level fields of a part that is not valid JSON as a whole.
void Recovery::ReadKnownKeys(std::string_view text) {
  static constexpr std::string_view kKeys[] = {
      "deviceProperties", "computeProperties", "distributedInfo", "baseTimeNanoseconds",
      "traceName",        "with_stack",        "record_shapes",   "profile_memory",
      "with_flops",       "with_modules"};
  for (const std::string_view key : kKeys) {
    const std::size_t found = text.find(fmt::format("\"{}\"", key));
    if (found == kNone) continue;
    const std::size_t colon = SkipSpace(text, found + key.size() + 2);
    if (colon >= text.size() || text[colon] != ':') continue;
    const std::size_t value = SkipSpace(text, colon + 1);
    if (value >= text.size()) continue;
    std::size_t end = 0;
    if (text[value] == '{' || text[value] == '[') {
      end = BracketEnd(text, value);
    } else if (text[value] == '"') {
      end = text.find('"', value + 1);
      if (end != kNone) ++end;
    } else {
      end = text.find_first_of(",}\n", value);
    }
    if (end != kNone) sink_.OnMetadata(key, text.substr(value, end - value));
  }
}

}  // namespace hone::importer::kineto
