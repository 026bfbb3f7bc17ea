// SPDX-License-Identifier: Apache-2.0
// Document: the JSON document that a file holds, read window by window. Ends where its outermost
// bracket closes; what stands behind that is counted and not read. A second trace there is as often
// another rank or a copy as the next cycle of the same program, and read into the same tables the
// first two would pass for twice the work on one device.
#pragma once

#include <cstdint>

#include "base/loss.h"
#include "import/kineto/event_parser.h"
#include "import/kineto/window_reader.h"

namespace hone::importer::kineto {

class Document {
 public:
  Document(EventSink& sink, bool array_form) : sink_(sink), array_form_(array_form) {}

  // Windows in the order of the file; what could not be read is added to `losses`.
  void Read(const Window& window, LossLog& losses);

  // After the last window.
  void CountBehind(LossLog& losses) const;

 private:
  ParseOutcome WalkWithoutTail(const Window& window, ParseOutcome failed);
  void EndAt(const Window& window, const char* behind);
  void Pass(const Window& window, const char* from);

  EventSink& sink_;
  const bool array_form_;
  bool ended_ = false, another_ = false;
  std::uint64_t behind_from_ = 0, behind_to_ = 0;  // offsets in the file
};

}  // namespace hone::importer::kineto
