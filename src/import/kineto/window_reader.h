// SPDX-License-Identifier: Apache-2.0
// WindowReader: cuts a trace file, however large, into small pieces that are JSON documents of
// their own, so that simdjson reads gigabytes in a few megabytes of memory, and a damaged event
// harms one piece only. Decompression, cutting and indexing run on a thread of their own.
//
//   file:      { "a": 1, "traceEvents": [ {e1}, {e2}, {e3}, {e4} ], "z": 2 }
//   window 1:  { "a": 1, "traceEvents": [ {e1}, {e2}]}
//   window 2:  {"traceEvents":[{e3}, {e4} ], "z": 2 }
//
// Metadata may stand before or after the events; each window carries what stands in it. A file
// that is a bare array of events is cut the same way with [ and ].
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/byte_source.h"
#include "import/kineto/event_parser.h"

namespace hone::importer::kineto {

struct Window {
  // The document; simdjson may read kWindowPadding bytes past its end, which are allocated.
  std::string_view document;
  std::string_view body;     // the part of `document` that stands in the file
  std::uint64_t offset = 0;  // of body in the decompressed file
  bool first = false, last = false;
  EventParser* parser = nullptr;  // has indexed the document; Walk is the reader's
};

inline constexpr std::size_t kWindowPadding = 64;

// Small enough that text, structural index and the tails of the tables share the second-level
// cache; tests use less to cut small files too.
inline constexpr std::size_t kDefaultWindowBytes = std::size_t{1} << 19;

class WindowReader {
 public:
  // The source must outlive the reader.
  explicit WindowReader(ByteSource& source, std::size_t window_bytes = kDefaultWindowBytes);
  ~WindowReader();
  WindowReader(const WindowReader&) = delete;
  WindowReader& operator=(const WindowReader&) = delete;

  // Next window, or nullptr at the end. Valid until the next call.
  const Window* Next();

  bool array_form() const { return array_form_; }
  std::uint64_t raw_bytes() const { return raw_bytes_; }  // after Next() returned nullptr
  std::uint64_t input_taken() const;
  // True when reading stopped before the end: an event larger than any can be, or no memory left.
  bool gave_up() const { return gave_up_; }

 private:
  struct Buffer {
    std::vector<char> bytes;  // headroom for the prefix, then the file's bytes
    std::size_t used = 0;     // bytes of the file held
    Window window;
    EventParser parser;
  };

  void Produce();
  bool FillAndCut(Buffer& buffer, Buffer& next);
  void Seal(Buffer& buffer, std::size_t body_bytes, bool last);
  bool Hand(std::unique_ptr<Buffer> buffer);
  std::unique_ptr<Buffer> TakeFree();

  ByteSource& source_;
  const std::size_t window_bytes_;
  bool array_form_ = false, form_known_ = false, gave_up_ = false;
  std::uint64_t raw_bytes_ = 0, next_offset_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Buffer>> ready_;
  std::vector<std::unique_ptr<Buffer>> free_;
  std::unique_ptr<Buffer> current_;
  bool done_ = false, stop_ = false;
  std::uint64_t taken_ = 0;
  std::thread producer_;
};

// Whether an event object starts at text[at]: '{', white space, and a quoted key that events
// have. `whole` is false when the text ends before that can be told.
bool LooksLikeEventStart(std::string_view text, std::size_t at);

}  // namespace hone::importer::kineto
