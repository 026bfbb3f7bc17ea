// SPDX-License-Identifier: Apache-2.0
// Recovery: reads what can be read of a damaged piece of a trace, event by event. Slow next to the
// normal path, and only ever run on the window that holds the damage.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/loss.h"
#include "import/kineto/event_parser.h"

namespace hone::importer::kineto {

class Recovery {
 public:
  Recovery(EventSink& sink, LossLog& losses) : sink_(sink), losses_(losses) {}

  // `text` starts at an event, inside the metadata before the events (`in_header`), or behind the
  // events. `offset` is its place in the file. `last`: the file ends with it; `array_form`: the
  // file is a bare array, which by convention may lack its closing bracket.
  void Read(std::string_view text, std::uint64_t offset, bool in_header, bool last,
            bool array_form);

 private:
  bool ReadPiece(std::string_view piece, std::size_t* end);
  bool ParseObject(std::string_view object);
  bool ReadHeader(std::string_view header);
  void NoteEnd(std::string_view text, std::uint64_t offset);
  void ReadKnownKeys(std::string_view text);

  EventSink& sink_;
  LossLog& losses_;
  EventParser parser_;
  std::string scratch_;
};

// Valid JSON made of nearly valid JSON: control bytes and broken UTF-8 in strings are replaced,
// stray quotes and backslashes escaped, trailing commas dropped. Exposed for tests.
std::string RepairJson(std::string_view piece);

// Index behind the bracket that closes the one at text[at]; npos when the text ends before.
std::size_t BracketEnd(std::string_view text, std::size_t at);

}  // namespace hone::importer::kineto
