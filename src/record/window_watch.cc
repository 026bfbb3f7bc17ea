// SPDX-License-Identifier: Apache-2.0
#include "record/window_watch.h"

#include <algorithm>

namespace hone::record {
namespace {

using wire::ProcessState;

// Those that follow look at the page ten times a second and write out what they have.
constexpr std::chrono::seconds kFollowersMayTake{2};
// What says that it records this long after the window closed does not heed the page.
constexpr std::chrono::seconds kDeafAfter{5};

// Has a window that is not over: what comes after its last step is timed, and part of it.
bool Steps(const SlotView& slot) {
  return slot.state == ProcessState::kStepping || slot.state == ProcessState::kTiming;
}

bool Records(const SlotView& slot) {
  return slot.alive && (slot.state == ProcessState::kFollowing || Steps(slot));
}

RecordingStatus StatusOf(const std::vector<SlotView>& slots) {
  RecordingStatus status;
  for (const SlotView& slot : slots) {
    if (!Records(slot)) continue;
    ++status.processes;
    status.window = std::max(status.window, slot.window);
    if (!Steps(slot)) continue;
    status.steps = status.stepping ? std::min(status.steps, slot.steps) : slot.steps;
    status.stepping = true;
  }
  return status;
}

Closing ClosingOf(const std::vector<SlotView>& slots) {
  Closing closing;
  for (const SlotView& slot : slots) {
    ++closing.processes;
    closing.window = std::max(closing.window, slot.window);
    if (slot.steps == 0) continue;
    closing.steps = closing.steps == 0 ? slot.steps : std::min(closing.steps, slot.steps);
  }
  return closing;
}

}  // namespace

std::vector<SlotView> WindowWatch::CountedOn(std::vector<SlotView> slots) {
  const bool all_ended = std::none_of(slots.begin(), slots.end(), [&](const SlotView& slot) {
    return slot.state != ProcessState::kEnded && slot.window > 0 && before_.contains(slot.pid);
  });
  if (all_ended && !before_.empty()) windows_before_ = closed_window_;
  for (SlotView& slot : slots) {
    if (slot.window == 0) {
      before_.erase(slot.pid);  // it ran exec, or waits for its first step
      continue;
    }
    slot.window += before_.try_emplace(slot.pid, windows_before_).first->second;
  }
  return slots;
}

void WindowWatch::Look(const std::vector<SlotView>& raw, Time now) {
  const std::vector<SlotView> slots = CountedOn(raw);
  status_ = StatusOf(slots);
  closing_ = ClosingOf(slots);
  recording_ = std::any_of(slots.begin(), slots.end(), Records);

  // A process that ended while it recorded closes nothing: another may just be starting. One that
  // closed its window and ended, before those that follow it have closed theirs, has closed it.
  std::uint32_t closed = waiting_window_;
  for (const SlotView& slot : slots) {
    if (slot.state == ProcessState::kClosed) closed = std::max(closed, slot.window);
  }
  for (const SlotView& slot : slots) {
    if (Records(slot) && Steps(slot) && slot.window <= closed) {
      closed = slot.window - std::min(slot.window, 1U);
    }
  }
  if (closed > closed_window_) Close(closed, slots, now);
  // One that made steps and ended while they were timed closes nothing, but it stepped.
  const bool stepped = std::any_of(slots.begin(), slots.end(), [](const SlotView& slot) {
    return slot.steps > 0 && slot.window > 0;
  });
  awaits_step_ = !recording_ && !stepped && closed == 0 && closed_window_ == 0 &&
                 std::any_of(slots.begin(), slots.end(), [](const SlotView& slot) {
                   return slot.alive && slot.state == ProcessState::kClosed;
                 });
  settled_ =
      closed_window_ > 0 && !closing_now() && (!recording_ || now - closed_since_ >= kDeafAfter);
}

void WindowWatch::Close(std::uint32_t closed, const std::vector<SlotView>& slots, Time now) {
  if (closed != waiting_window_) {
    waiting_window_ = closed;
    waiting_since_ = now;
  }
  const bool followed = std::none_of(slots.begin(), slots.end(), [&](const SlotView& slot) {
    return Records(slot) && slot.window <= closed;
  });
  if (!followed && now - waiting_since_ < kFollowersMayTake) return;
  closed_window_ = closed;
  closed_since_ = now;
}

}  // namespace hone::record
