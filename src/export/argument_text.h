// SPDX-License-Identifier: Apache-2.0
// Which strings of a trace are JSON themselves. Arguments of operators are kept as the text of the
// file ("[[64, 3, 224, 224], []]"); repaired files may hold anything there.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace hone::exporter {

// One byte for each distinct string; each is parsed once.
class ArgumentText {
 public:
  explicit ArgumentText(const trace::Trace& trace);
  ~ArgumentText();

  // Whether the text is a JSON array or object, and valid UTF-8.
  bool IsJson(StringId id);

 private:
  struct Parser;
  const trace::Trace& trace_;
  std::vector<unsigned char> known_;  // 0: not looked at, 1: no, 2: yes
  std::unique_ptr<Parser> parser_;
};

}  // namespace hone::exporter
