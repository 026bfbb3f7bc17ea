// SPDX-License-Identifier: Apache-2.0
// EventParser: walks one JSON document of a trace with simdjson's on-demand API and hands out its
// events and file-level fields.
#pragma once

#include <memory>
#include <string_view>

#include "import/kineto/raw_event.h"

namespace hone::importer::kineto {

class EventSink {
 public:
  virtual ~EventSink() = default;
  // The event may be changed; it is spent afterwards.
  virtual void OnEvent(RawEvent& event) = 0;
  // An element of "traceEvents" that is no object.
  virtual void OnStray() = 0;
  // A key beside "traceEvents" and the JSON text of its value.
  virtual void OnMetadata(std::string_view key, std::string_view json) = 0;
};

struct ParseOutcome {
  bool complete = false;    // all of the document was understood
  bool saw_events = false;  // the array of events was reached
  // Unless complete: everything before this was handed out and nothing behind it. It points into
  // the document, at the start of the event or key that failed.
  const char* stopped_at = nullptr;
  // If complete: what stands behind the end of the document; nullptr: nothing.
  const char* behind = nullptr;
};

// Two stages, so that two threads can share the work: Index finds the structure of the text (SIMD,
// about a third of the cost), Walk reads it.
class EventParser {
 public:
  EventParser();
  ~EventParser();

  // `document` is followed by at least kWindowPadding readable bytes and stays in place until Walk
  // is done.
  void Index(std::string_view document);
  ParseOutcome Walk(EventSink& sink);

 private:
  struct State;
  bool WalkEvents(EventSink& sink);
  bool WalkFields(EventSink& sink, bool* saw_events);

  std::unique_ptr<State> state_;
};

}  // namespace hone::importer::kineto
