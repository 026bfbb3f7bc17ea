// SPDX-License-Identifier: Apache-2.0
#include "import/kineto/document.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "import/kineto/recovery.h"
#include "import/kineto/white_space.h"

namespace hone::importer::kineto {
namespace {

std::string_view Behind(std::string_view text, const char* from) {
  return text.substr(static_cast<std::size_t>(from - text.data()));
}

}  // namespace

void Document::Read(const Window& window, LossLog& losses) {
  if (ended_) return Pass(window, window.body.data());
  ParseOutcome outcome = window.parser->Walk(sink_);
  if (!outcome.complete && outcome.stopped_at == window.document.data()) {
    outcome = WalkWithoutTail(window, outcome);
  }
  if (outcome.complete) {
    if (outcome.behind != nullptr) EndAt(window, outcome.behind);
    return;
  }
  // A document that fails at once stops at its prefix, which is not in the file.
  const char* const begin = window.body.data();
  const char* const stopped = std::clamp(outcome.stopped_at, begin, begin + window.body.size());
  Recovery recovery(sink_, losses);
  recovery.Read(Behind(window.body, stopped),
                window.offset + static_cast<std::uint64_t>(stopped - begin),
                window.first && !outcome.saw_events, window.last, array_form_);
}

// simdjson gives up at once where a text does not end as it began: the document may be whole and
// something else stand behind it.
ParseOutcome Document::WalkWithoutTail(const Window& window, ParseOutcome failed) {
  const std::string_view text = window.document;
  const std::size_t start = SkipSpace(text, 0);
  if (start == text.size() || (text[start] != '{' && text[start] != '[')) return failed;
  const std::size_t end = BracketEnd(text, start);
  if (end == std::string_view::npos) return failed;
  const std::size_t tail = SkipSpace(text, end);
  if (tail == text.size()) return failed;
  window.parser->Index(text.substr(0, end));
  ParseOutcome outcome = window.parser->Walk(sink_);
  outcome.behind = text.data() + tail;
  return outcome;
}

void Document::EndAt(const Window& window, const char* behind) {
  ended_ = true;
  const char* const end = window.body.data() + window.body.size();
  behind = std::min(behind, end);  // the suffix is not in the file
  behind_from_ = behind_to_ =
      window.offset + static_cast<std::uint64_t>(behind - window.body.data());
  Pass(window, behind);
}

void Document::Pass(const Window& window, const char* from) {
  const std::string_view rest = Behind(window.body, from);
  const std::size_t last = rest.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) return;
  const auto skipped = static_cast<std::uint64_t>(from - window.body.data());
  behind_to_ = window.offset + skipped + last + 1;
  another_ = another_ || rest.find("\"traceEvents\"") != std::string_view::npos;
}

void Document::CountBehind(LossLog& losses) const {
  losses.Add(LossKind::kTextBehind, behind_to_ - behind_from_, 0,
             (another_ ? "another trace from byte " : "from byte ") + WithThousands(behind_from_));
}

}  // namespace hone::importer::kineto
