// SPDX-License-Identifier: Apache-2.0
#include "import/hone/recorded_span.h"

#include <algorithm>

#include "base/text.h"
#include "trace/builder.h"

namespace hone::importer::hone_file {

RecordedSpan::RecordedSpan(const ProcessFile& leader) {
  ReadMarks(leader);
  if (stretches_.size() < 2) return;
  const std::uint32_t window = whole_window_ > 0 ? whole_window_ : stretches_.back().window;
  Nanos longest = -1;
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    if (stretches_[i].window != window || stretches_[i].span.length() < longest) continue;
    chosen_ = i;
    longest = stretches_[i].span.length();
  }
  if (chosen_ > 0) from_ns_ = stretches_[chosen_].span.begin_ns;
  if (chosen_ + 1 < stretches_.size()) until_ns_ = stretches_[chosen_ + 1].span.begin_ns;
}

void RecordedSpan::ReadMarks(const ProcessFile& leader) {
  Nanos last = leader.clock.last_ns();
  if (!leader.marks.empty()) last = std::max(last, leader.marks.back().time_ns);
  bool open = false, paused = false;
  Nanos since = 0;
  std::uint32_t window = 0;
  const auto close = [&](Nanos at) {
    if (open && !paused && at > since) stretches_.push_back({{since, at}, window});
  };
  for (const Mark& mark : leader.marks) {
    switch (mark.kind) {
      case wire::MarkKind::kWindowOpen:
        if (open) close(mark.time_ns);  // its close was lost
        open = true;
        ++window;
        since = mark.time_ns;
        break;
      case wire::MarkKind::kWindowClose:
      case wire::MarkKind::kEnd:
        close(mark.time_ns);
        // One that the end of the process cut short, or that no step was made in, says so.
        if (open && mark.kind == wire::MarkKind::kWindowClose && mark.text.empty()) {
          whole_window_ = window;
        }
        open = false;
        break;
      case wire::MarkKind::kGapOpen:
        if (paused) break;
        close(mark.time_ns);
        paused = true;
        gaps_.push_back({{mark.time_ns, last}, mark.text});
        break;
      case wire::MarkKind::kGapClose:
        if (!paused) break;
        paused = false;
        gaps_.back().span.end_ns = mark.time_ns;
        since = mark.time_ns;
        break;
      default: break;
    }
  }
  close(last);
}

void RecordedSpan::Report(LossLog& losses) const {
  for (const Gap& gap : gaps_) {
    const Nanos length = std::clamp<Nanos>(gap.span.length(), 0, trace::Builder::kMostTogether / 4);
    losses.Add(LossKind::kRecordingGap, 1, 0, gap.text + " (" + HumanDuration(length) + ")");
  }
  if (stretches_.size() < 2) return;
  Nanos others = 0;
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    if (i == chosen_) continue;
    others += std::clamp<Nanos>(stretches_[i].span.length(), 0, trace::Builder::kLatest / 1024);
  }
  losses.Add(LossKind::kOtherWindow, stretches_.size() - 1, 0,
             HumanDuration(others) + " in all; " +
                 HumanDuration(stretches_[chosen_].span.length()) + " are analyzed");
}

}  // namespace hone::importer::hone_file
