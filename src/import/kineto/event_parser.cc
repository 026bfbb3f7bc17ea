// SPDX-License-Identifier: Apache-2.0
#include "import/kineto/event_parser.h"

#include <simdjson.h>

#include <bit>
#include <cstdint>
#include <cstring>

#include "import/kineto/event_fields.h"
#include "import/kineto/recovery.h"
#include "import/kineto/window_reader.h"

namespace hone::importer::kineto {
namespace {

namespace od = simdjson::ondemand;

// The key's text. Keys with escapes keep them; none that we look for has one. Eight bytes at a
// time, since finding the ends of keys is a good part of the walk; the padding behind a document
// allows to read past its end.
std::string_view KeyText(od::raw_json_string key) {
  constexpr std::uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
  const char* const text = key.raw();
  for (std::size_t at = 0;; at += 8) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text + at, 8);
    const std::uint64_t no_quote = bytes ^ (kOnes * '"');
    const std::uint64_t found = (no_quote - kOnes) & ~no_quote & kHighs;
    if (found == 0) continue;
    const std::size_t length = at + static_cast<std::size_t>(std::countr_zero(found)) / 8;
    if (length == 0 || text[length - 1] != '\\') return {text, length};
    break;
  }
  std::size_t length = 0;
  while (text[length] != '"') length += text[length] == '\\' ? 2 : 1;
  return {text, length};
}

// The JSON text of a value: all of an array or object, the token of a scalar.
bool RawText(od::value value, std::string_view* text) {
  od::json_type type;
  if (value.type().get(type) != simdjson::SUCCESS) {
    *text = value.raw_json_token();  // NaN, inf and other tokens that are not JSON
    return true;
  }
  switch (type) {
    case od::json_type::array: {
      od::array array;
      return value.get_array().get(array) == simdjson::SUCCESS &&
             array.raw_json().get(*text) == simdjson::SUCCESS;
    }
    case od::json_type::object: {
      od::object object;
      return value.get_object().get(object) == simdjson::SUCCESS &&
             object.raw_json().get(*text) == simdjson::SUCCESS;
    }
    default: *text = value.raw_json_token(); return true;
  }
}

bool ParseArgs(od::value value, RawEvent& event) {
  if (value.raw_json_token().front() != '{') return true;  // "args": null carries nothing
  od::object args;
  if (value.get_object().get(args) != simdjson::SUCCESS) return false;
  // A writer that sorts its keys puts the arguments before the phase.
  const bool keep_scalars = event.phase == 0 || event.phase == 'C' || event.phase == 'M';
  for (auto field : args) {
    od::raw_json_string key;
    od::value argument;
    if (field.key().get(key) != simdjson::SUCCESS ||
        field.value().get(argument) != simdjson::SUCCESS) {
      return false;
    }
    const std::string_view name = KeyText(key);
    std::string_view text = argument.raw_json_token();
    const bool nested = text.front() == '[' || text.front() == '{';
    if (keep_scalars && !nested) event.scalars.emplace_back(name, text);
    if (const ArgKey* const arg = FindArg(name); arg != nullptr) {
      if (nested && !RawText(argument, &text)) return false;
      event.args_set |= !arg->common;
      arg->set(event, text);
    }
  }
  return true;
}

bool ParseEvent(od::object object, RawEvent& event) {
  for (auto field : object) {
    od::raw_json_string key;
    od::value value;
    if (field.key().get(key) != simdjson::SUCCESS ||
        field.value().get(value) != simdjson::SUCCESS) {
      return false;
    }
    const std::string_view name = KeyText(key);
    if (name == "args") {
      if (!ParseArgs(value, event)) return false;
    } else {
      SetEventField(event, name, value.raw_json_token());
    }
  }
  return true;
}

}  // namespace

struct EventParser::State {
  od::parser parser;
  od::document document;
  std::string_view text;
  bool indexed = false;
  const char* at = nullptr;  // start of what is being read now
  bool handed_out = false;   // the event at `at` is already with the sink
  od::array events;
  RawEvent event;
};

EventParser::EventParser() : state_(std::make_unique<State>()) {}
EventParser::~EventParser() = default;

void EventParser::Index(std::string_view document) {
  State& state = *state_;
  state.text = document;
  state.indexed =
      state.parser.iterate(document.data(), document.size(), document.size() + kWindowPadding)
          .get(state.document) == simdjson::SUCCESS;
}

bool EventParser::WalkEvents(EventSink& sink) {
  State& state = *state_;
  for (auto element : state.events) {
    od::value value;
    if (element.get(value) != simdjson::SUCCESS) return false;
    const std::string_view token = value.raw_json_token();
    state.at = token.data();
    state.handed_out = false;
    if (token.front() != '{') {
      sink.OnStray();
      continue;
    }
    od::object object;
    state.event.Reset();
    if (value.get_object().get(object) != simdjson::SUCCESS || !ParseEvent(object, state.event)) {
      return false;
    }
    sink.OnEvent(state.event);
    state.handed_out = true;
  }
  return true;
}

bool EventParser::WalkFields(EventSink& sink, bool* saw_events) {
  State& state = *state_;
  od::object object;
  if (state.document.get_object().get(object) != simdjson::SUCCESS) return false;
  for (auto field : object) {
    od::raw_json_string key;
    od::value value;
    if (field.key().get(key) != simdjson::SUCCESS ||
        field.value().get(value) != simdjson::SUCCESS) {
      return false;
    }
    const std::string_view name = KeyText(key);
    state.at = name.data() - 1;
    state.handed_out = false;
    if (name == "traceEvents" && value.raw_json_token().front() == '[') {
      *saw_events = true;
      if (value.get_array().get(state.events) != simdjson::SUCCESS || !WalkEvents(sink)) {
        return false;
      }
    } else {
      std::string_view json;
      if (!RawText(value, &json)) return false;
      sink.OnMetadata(name, json);
    }
  }
  return true;
}

ParseOutcome EventParser::Walk(EventSink& sink) {
  State& state = *state_;
  ParseOutcome outcome;
  state.at = state.text.data();
  state.handed_out = false;
  od::json_type type;
  if (state.indexed && state.document.type().get(type) == simdjson::SUCCESS) {
    if (type == od::json_type::array) {
      outcome.saw_events = true;
      outcome.complete =
          state.document.get_array().get(state.events) == simdjson::SUCCESS && WalkEvents(sink);
    } else if (type == od::json_type::object) {
      outcome.complete = WalkFields(sink, &outcome.saw_events);
    }
  }
  if (outcome.complete &&
      state.document.current_location().get(outcome.behind) != simdjson::SUCCESS) {
    outcome.behind = nullptr;
  }
  outcome.stopped_at = state.at;
  if (!outcome.complete && state.handed_out) {
    // The trouble lies behind an event that was read: it must not be read again.
    const char* const end = state.text.data() + state.text.size();
    const std::string_view rest(state.at, static_cast<std::size_t>(end - state.at));
    const std::size_t behind = BracketEnd(rest, 0);
    outcome.stopped_at = behind == std::string_view::npos ? end : state.at + behind;
  }
  return outcome;
}

}  // namespace hone::importer::kineto
