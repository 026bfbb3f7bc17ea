// SPDX-License-Identifier: Apache-2.0
#include "import/hone/recorded_span.h"

#include <algorithm>

#include "base/text.h"
#include "trace/builder.h"

namespace hone::importer::hone_file {
namespace {

// A pause is analyzed where it holds so many times the rows of any other stretch.
constexpr std::uint64_t kNearlyAll = 8;

}  // namespace

RecordedSpan::RecordedSpan(const ProcessFile& leader) {
  ReadMarks(leader);
  if (stretches_.size() < 2) return;
  const auto is_pause = [](const Stretch& stretch) { return stretch.pause; };
  if (std::any_of(stretches_.begin(), stretches_.end(), is_pause)) CountRows(leader);
  chosen_ = Choose();
  if (chosen_ > 0) from_ns_ = stretches_[chosen_].span.begin_ns;
  if (chosen_ + 1 < stretches_.size()) until_ns_ = stretches_[chosen_ + 1].span.begin_ns;
}

void RecordedSpan::ReadMarks(const ProcessFile& leader) {
  Nanos last = leader.clock.last_ns();
  if (!leader.marks.empty()) last = std::max(last, leader.marks.back().time_ns);
  bool open = false, pause = false;
  std::string who;
  Nanos since = 0;
  std::uint32_t window = 0;
  const auto close = [&](Nanos at) {
    if (open && at > since) stretches_.push_back({{since, at}, window, pause, who});
    since = at;
  };
  for (const Mark& mark : leader.marks) {
    switch (mark.kind) {
      case wire::MarkKind::kWindowOpen:
        close(mark.time_ns);  // where the last one's close was lost
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
        if (pause) break;
        close(mark.time_ns);
        pause = true;
        who = mark.text;
        break;
      case wire::MarkKind::kGapClose:
        if (!pause) break;
        close(mark.time_ns);
        pause = false;
        who.clear();
        break;
      default: break;
    }
  }
  close(last);
}

void RecordedSpan::CountRows(const ProcessFile& leader) {
  Result<wire::FileReader> reader = leader.bytes.Open();
  if (!reader) return;  // said by who reads its rows
  wire::Chunk chunk;
  while (reader->Next(chunk)) {
    if (chunk.table() != "host" && chunk.table() != "api") continue;
    for (const std::int64_t start : chunk.Integers("start")) {
      const Nanos at = leader.clock.ToNanos(start);
      const auto after = std::upper_bound(
          stretches_.begin(), stretches_.end(), at,
          [](Nanos time, const Stretch& stretch) { return time < stretch.span.begin_ns; });
      if (after != stretches_.begin()) ++std::prev(after)->rows;
    }
  }
}

std::size_t RecordedSpan::Choose() const {
  const std::uint32_t window = whole_window_ > 0 ? whole_window_ : stretches_.back().window;
  const auto better = [](const Stretch& a, const Stretch& b) {
    if (a.pause != b.pause) {
      return a.pause ? a.rows > kNearlyAll * b.rows : b.rows <= kNearlyAll * a.rows;
    }
    return std::pair(a.rows, a.span.length()) >= std::pair(b.rows, b.span.length());
  };
  std::size_t best = stretches_.size();
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    if (stretches_[i].window != window) continue;
    if (best == stretches_.size() || better(stretches_[i], stretches_[best])) best = i;
  }
  return best;
}

void RecordedSpan::Report(LossLog& losses) const {
  Nanos others = 0;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    const Stretch& stretch = stretches_[i];
    const Nanos length =
        std::clamp<Nanos>(stretch.span.length(), 0, trace::Builder::kLatest / 1024);
    if (stretch.pause) {
      losses.Add(LossKind::kRecordingGap, 1, 0, stretch.text + " (" + HumanDuration(length) + ")");
    } else if (i != chosen_) {
      others += length;
      ++left_out;
    }
  }
  if (left_out == 0) return;
  losses.Add(LossKind::kOtherWindow, left_out, 0,
             HumanDuration(others) + " in all; " +
                 HumanDuration(stretches_[chosen_].span.length()) + " are analyzed");
}

}  // namespace hone::importer::hone_file
