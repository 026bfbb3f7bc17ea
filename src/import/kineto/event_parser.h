// SPDX-License-Identifier: Apache-2.0
// EventParser: walks one JSON document of a trace with simdjson's on-demand API and hands out its
// events and file-level fields.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "import/kineto/raw_event.h"

namespace hone::importer::kineto {

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void OnEvent(const RawEvent& event) = 0;
  // A key beside "traceEvents" and the JSON text of its value.
  virtual void OnMetadata(std::string_view key, std::string_view json) = 0;
};

class EventParser {
 public:
  EventParser();
  ~EventParser();

  // `document` is followed by at least kWindowPadding readable bytes. Returns true when all of it
  // was understood. Else everything before *stopped_at was handed out and nothing behind it;
  // *stopped_at points into the document, at the start of the event (or key) that failed.
  bool Parse(std::string_view document, EventSink& sink, const char** stopped_at);

  bool saw_events_array() const { return saw_events_array_; }

 private:
  struct State;
  bool ParseEvents(State& state, EventSink& sink);

  std::unique_ptr<State> state_;
  bool saw_events_array_ = false;
};

}  // namespace hone::importer::kineto
