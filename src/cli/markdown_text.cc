// SPDX-License-Identifier: Apache-2.0
#include "cli/markdown_text.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"

namespace hone::cli {
namespace {

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Without the marks of code, emphasis and links.
std::string Inline(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '`') continue;
    if (text.substr(at, 2) == "**") {
      ++at;
      continue;
    }
    const std::size_t middle = text[at] == '[' ? text.find("](", at) : std::string_view::npos;
    const std::size_t end = middle == std::string_view::npos ? middle : text.find(')', middle);
    if (end != std::string_view::npos) {
      out += Inline(text.substr(at + 1, middle - at - 1));
      at = end;
      continue;
    }
    out.push_back(text[at]);
  }
  return out;
}

// Length of the mark that opens a list item, blanks before and after it included; 0: no item.
std::size_t ItemMark(std::string_view line) {
  const std::size_t start = line.find_first_not_of(' ');
  if (start == std::string_view::npos) return 0;
  if ((line[start] == '-' || line[start] == '*') && line.substr(start + 1, 1) == " ") {
    return start + 2;
  }
  std::size_t at = start;
  while (at < line.size() && line[at] >= '0' && line[at] <= '9') ++at;
  return at > start && line.substr(at, 2) == ". " ? at + 2 : 0;
}

class Renderer {
 public:
  Renderer(std::size_t width, bool utf8) : width_(width), utf8_(utf8) {}

  std::string Render(std::string_view markdown) {
    for (const std::string_view line : Lines(markdown)) Take(line);
    Flush();
    return std::move(out_);
  }

 private:
  void Take(std::string_view line) {
    if (line.substr(0, 3) == "```") {
      Flush();
      fenced_ = !fenced_;
    } else if (fenced_) {
      Code(line, 4);
    } else if (Trimmed(line).empty()) {
      Flush();
      if (!out_.empty() && !out_.ends_with("\n\n")) out_ += '\n';
    } else if (line[0] == '#') {
      Heading(line);
    } else if (line[0] == '|') {
      if (table_.empty()) Flush();
      table_.push_back(CellsOf(line));
    } else if (line.substr(0, 4) == "    " && paragraph_.empty() && indent_ == 0) {
      Code(line.substr(4), 4);
    } else if (const std::size_t mark = ItemMark(line); mark > 0) {
      Flush();
      mark_ = std::string(line.substr(0, mark));
      indent_ = mark;
      paragraph_ = std::string(Trimmed(line.substr(mark)));
    } else {
      if (!table_.empty()) Flush();
      paragraph_ += (paragraph_.empty() ? "" : " ") + std::string(Trimmed(line));
    }
  }

  void Heading(std::string_view line) {
    Flush();
    const std::size_t level = std::min(line.find_first_not_of('#'), line.size());
    const std::string title = Inline(Trimmed(line.substr(level)));
    Emit("", title, 0);
    if (level == 1) out_ += std::string(std::min(DisplayWidth(title), width_), '=') + '\n';
    if (level == 2) out_ += std::string(std::min(DisplayWidth(title), width_), '-') + '\n';
  }

  void Code(std::string_view line, std::size_t indent) {
    Flush();
    std::string text = std::string(indent, ' ') + std::string(line);
    out_ += (utf8_ ? text : Ascii(text)) + '\n';
  }

  static std::vector<std::string> CellsOf(std::string_view line) {
    std::vector<std::string> cells;
    std::string cell;
    for (std::size_t at = 1; at < line.size(); ++at) {
      if (line[at] == '\\' && line.substr(at + 1, 1) == "|") {
        cell += line[++at];
      } else if (line[at] == '|') {
        cells.push_back(Inline(Trimmed(cell)));
        cell.clear();
      } else {
        cell += line[at];
      }
    }
    return cells;
  }

  // The first row names the columns and is left out, as is the ruler below it.
  void FlushTable() {
    constexpr std::size_t kMostTerm = 24;
    std::size_t term = 0;
    for (std::size_t i = 2; i < table_.size(); ++i) {
      if (!table_[i].empty()) term = std::max(term, DisplayWidth(table_[i][0]));
    }
    term = std::min(term, kMostTerm) + 2;
    for (std::size_t i = 2; i < table_.size(); ++i) {
      if (table_[i].empty()) continue;
      const std::string& first = table_[i][0];
      std::string rest;
      for (std::size_t cell = 1; cell < table_[i].size(); ++cell) {
        if (!table_[i][cell].empty()) rest += (rest.empty() ? "" : "; ") + table_[i][cell];
      }
      if (DisplayWidth(first) + 2 <= term) {
        Emit("  " + PadRight(first, term), rest, term + 2);
      } else {
        Emit("  ", first, 2);
        Emit("", rest, term + 2, true);
      }
    }
    table_.clear();
  }

  void Flush() {
    FlushTable();
    if (!paragraph_.empty()) Emit(mark_, Inline(paragraph_), indent_);
    paragraph_.clear();
    mark_.clear();
    indent_ = 0;
  }

  void Emit(const std::string& front, const std::string& text, std::size_t indent,
            bool indent_first = false) {
    bool first = true;
    for (const std::string& line : WrapWords(text, width_ - std::min(width_, indent))) {
      const std::string lead = first && !indent_first ? front : std::string(indent, ' ');
      std::string whole = lead + line;
      whole.erase(whole.find_last_not_of(' ') + 1);
      out_ += (utf8_ ? whole : Ascii(whole)) + '\n';
      first = false;
    }
  }

  static std::string Ascii(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const Utf8Char c = DecodeUtf8(text, at);
      at += c.size;
      switch (c.code) {
        case 0x2192: out += "->"; break;
        case 0x2026: out += "..."; break;
        case 0x2212: out += "-"; break;
        case 0x00B7: out += "*"; break;
        case 0x00D7: out += "x"; break;
        case 0x2211:
        case 0x03A3: out += "sum"; break;
        case 0x222A: out += "union"; break;
        case 0x2229: out += "and"; break;
        case 0x2264: out += "<="; break;
        case 0x2265: out += ">="; break;
        case 0x00B5:
        case 0x03BC: out += "u"; break;
        default:
          if (c.code < 0x80) {
            out.push_back(static_cast<char>(c.code));
          } else {
            out.push_back('?');
          }
      }
    }
    return out;
  }

  std::size_t width_;
  bool utf8_;
  bool fenced_ = false;
  std::vector<std::vector<std::string>> table_;
  std::string out_, paragraph_, mark_;
  std::size_t indent_ = 0;
};

}  // namespace

std::string MarkdownToText(std::string_view markdown, std::size_t width, bool utf8) {
  return Renderer(width, utf8).Render(markdown);
}

}  // namespace hone::cli
