// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/self_time.h"

#include <algorithm>

#include "analyze/grouping.h"
#include "analyze/source_frame.h"
#include "analyze/waiting_frame.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

constexpr std::size_t kNobody = SIZE_MAX;

}  // namespace

FrameKind KindOfFrame(std::string_view name) {
  const analyze::SourceFrame frame = analyze::ParseFrame(name);
  if (frame.file.empty()) {
    return name.starts_with("nn.Module: ") ? FrameKind::kFramework : FrameKind::kBuiltin;
  }
  if (analyze::IsFrameworkFrame(frame)) return FrameKind::kFramework;
  return analyze::IsUserFrame(frame) ? FrameKind::kUser : FrameKind::kLibrary;
}

SelfTime::SelfTime(const Model& model)
    : model_(model),
      host_(model.trace().host),
      others_(OthersBusiness(model)),
      computes_(HostComputations(model)),
      kinds_(model.trace().strings.size(), FrameKind::kUnseen),
      waits_(kinds_.size(), 0),
      longest_(kinds_.size(), kNoRow),
      calls_(kinds_.size(), 0) {}

// By time, not by parents: steps and other annotations cross the frames that begin and end them.
std::vector<Piece> SelfTime::Collect() {
  const trace::Thread& thread = model_.trace().threads[model_.graph().lanes[0].row];
  for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
    if (!Counts(i)) continue;
    while (!open_.empty() && open_.back().end_ns <= host_.start_ns[i]) Pop();
    const std::size_t around = open_.empty() ? kNobody : open_.back().owner;
    const Open open = OpenOf(i, around);
    // A built-in goes on with its caller's time; all else interrupts it.
    if (open.owner != around && around != kNobody) {
      Open& caller = open_[around];
      Close(caller, host_.start_ns[i]);
      caller.at_ns = std::max(caller.at_ns, host_.end_ns(i));
    }
    open_.push_back(open);
  }
  while (!open_.empty()) Pop();
  return std::move(pieces_);
}

RowId SelfTime::LibraryOf(StringId name) const {
  const auto of = libraries_.find(name);
  if (of == libraries_.end()) return kNoRow;
  const auto most = std::max_element(
      of->second.begin(), of->second.end(),
      [](const auto& a, const auto& b) { return a.second.second < b.second.second; });
  return most->second.first;
}

bool SelfTime::Counts(RowId i) const {
  if (others_[i] != 0) return true;
  if (computes_[i] != 0) return false;
  const SliceKind kind = host_.kind[i];
  return kind != SliceKind::kAnnotation && kind != SliceKind::kOther &&
         kind != SliceKind::kGraphNode;
}

bool SelfTime::Waits(StringId name) {
  std::uint8_t& waits = waits_[static_cast<std::uint32_t>(name)];
  if (waits == 0) {
    const bool nothing =
        analyze::WaitOfFrame(model_.trace().Name(name)) == analyze::WaitsFor::kNothing;
    waits = nothing ? 1 : 2;
  }
  return waits == 2;
}

bool SelfTime::Copies(RowId i, std::size_t around) const {
  if (!open_.empty() && open_.back().copies) return true;
  return around != kNobody && KindOf(host_.name[open_[around].row]) == FrameKind::kUser &&
         analyze::IsDeepCopyFrame(analyze::ParseFrame(model_.trace().HostName(i)));
}

SelfTime::Open SelfTime::OpenOf(RowId i, std::size_t around) {
  const std::size_t owner = Owner(i, around);
  Open open{i,
            owner,
            host_.start_ns[i],
            host_.end_ns(i),
            host_.name[i],
            StringId::kEmpty,
            Copies(i, around)};
  if (owner == open_.size() && Waits(host_.name[i])) {
    open.wait = host_.name[i];
    if (around != kNobody) open.name = open_[around].name;
  }
  return open;
}

std::size_t SelfTime::Owner(RowId i, std::size_t around) {
  if (others_[i] != 0 || host_.kind[i] != SliceKind::kPython) return kNobody;
  const auto name = static_cast<std::uint32_t>(host_.name[i]);
  if (kinds_[name] == FrameKind::kUnseen) kinds_[name] = KindOfFrame(model_.trace().HostName(i));
  // What a waiting function calls is a part of waiting, but for what the user hands to it.
  if (around != kNobody && open_[around].wait != StringId::kEmpty &&
      kinds_[name] != FrameKind::kUser) {
    return around;
  }
  if (Waits(host_.name[i])) {
    Note(i);
    return open_.size();
  }
  if (kinds_[name] == FrameKind::kBuiltin) return around;
  // The time of a copy is that of who asked for it, whosever data it is.
  if (kinds_[name] == FrameKind::kFramework && around != kNobody && open_.back().copies) {
    return around;
  }
  // A library works for who called it: that is the line that the user can change. Not so who
  // began before the step: that is the loop of the steps, or the program that called a library's.
  if (kinds_[name] == FrameKind::kLibrary && around != kNobody &&
      KindOf(host_.name[open_[around].row]) == FrameKind::kUser &&
      BeganInStep(open_[around].row, i)) {
    if (open_.back().owner == around && model_.InWindow(i)) NoteLibrary(open_[around].row, i);
    return around;
  }
  Note(i);
  return open_.size();
}

void SelfTime::Note(RowId i) {
  const auto name = static_cast<std::uint32_t>(host_.name[i]);
  if (model_.InWindow(i)) ++calls_[name];
  if (longest_[name] == kNoRow || host_.duration_ns[i] > host_.duration_ns[longest_[name]]) {
    longest_[name] = i;
  }
}

bool SelfTime::BeganInStep(RowId function, RowId inside) {
  const std::vector<analyze::Step>& steps = model_.facts().steps.steps;
  const auto begin = [&](std::size_t step) { return steps[step].host_span.begin_ns; };
  while (step_ + 1 < steps.size() && begin(step_ + 1) <= host_.start_ns[inside]) ++step_;
  return steps.empty() || host_.start_ns[function] >= begin(step_);
}

void SelfTime::NoteLibrary(RowId caller, RowId function) {
  auto& [row, time] =
      libraries_[host_.name[caller]].try_emplace(host_.name[function], function, 0).first->second;
  time = analyze::SaturatingAdd(time, host_.duration_ns[function]);
}

void SelfTime::Pop() {
  const Open& last = open_.back();
  if (last.owner == open_.size() - 1) Close(last, last.end_ns);
  open_.pop_back();
}

void SelfTime::Close(const Open& function, Nanos end) {
  const trace::Interval& window = model_.graph().window;
  const Nanos begin = std::max(function.at_ns, window.begin_ns);
  end = std::min({end, window.end_ns, function.end_ns});
  if (begin < end) pieces_.push_back({function.name, {begin, end}, function.wait});
}

}  // namespace hone::replay
