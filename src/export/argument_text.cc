// SPDX-License-Identifier: Apache-2.0
#include "export/argument_text.h"

#include <simdjson.h>

namespace hone::exporter {

struct ArgumentText::Parser {
  simdjson::dom::parser dom;
};

ArgumentText::ArgumentText(const trace::Trace& trace)
    : trace_(trace), known_(trace.strings.size()), parser_(std::make_unique<Parser>()) {}
ArgumentText::~ArgumentText() = default;

bool ArgumentText::IsJson(StringId id) {
  unsigned char& known = known_[static_cast<std::uint32_t>(id)];
  if (known == 0) {
    const std::string_view text = trace_.Name(id);
    simdjson::dom::element root;
    const bool bracketed = !text.empty() && (text.front() == '[' || text.front() == '{');
    const bool json =
        bracketed && parser_->dom.parse(text.data(), text.size()).get(root) == simdjson::SUCCESS;
    known = json ? 2 : 1;
  }
  return known == 2;
}

}  // namespace hone::exporter
