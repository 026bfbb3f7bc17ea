// SPDX-License-Identifier: Apache-2.0
#include "collect/control.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace hone::collect {

void Control::Attach(const char* folder) noexcept {
  if (page_ == nullptr) {
    char path[4096];  // options keep a folder to 3,072 bytes
    std::snprintf(path, sizeof(path), "%s/%s", folder, wire::kControlFile);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    struct stat info;
    void* memory = MAP_FAILED;
    if (fstat(fd, &info) == 0 && info.st_size >= static_cast<off_t>(sizeof(wire::ControlPage))) {
      memory = mmap(nullptr, sizeof(wire::ControlPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    close(fd);
    if (memory == MAP_FAILED) return;
    page_ = static_cast<wire::ControlPage*>(memory);
    if (page_->magic.load(std::memory_order_acquire) != wire::ControlPage::kMagic) {
      munmap(memory, sizeof(wire::ControlPage));
      page_ = nullptr;
      return;
    }
  }
  slot_ = TakeSlot();
  if (slot_ == nullptr) return;
  slot_->steps.store(0, std::memory_order_relaxed);
  slot_->window.store(0, std::memory_order_relaxed);
  Set(wire::ProcessState::kFollowing);
}

wire::ProcessSlot* Control::TakeSlot() const noexcept {
  const auto pid = static_cast<std::uint32_t>(getpid());
  // A pid that ran exec takes its old slot again.
  for (wire::ProcessSlot& slot : page_->slots) {
    std::uint32_t nobody = 0;
    if (slot.pid.load(std::memory_order_relaxed) == pid ||
        slot.pid.compare_exchange_strong(nobody, pid, std::memory_order_relaxed)) {
      return &slot;
    }
  }
  for (wire::ProcessSlot& slot : page_->slots) {
    auto ended = static_cast<std::uint32_t>(wire::ProcessState::kEnded);
    const auto taking = static_cast<std::uint32_t>(wire::ProcessState::kFree);
    if (!slot.state.compare_exchange_strong(ended, taking, std::memory_order_acq_rel)) continue;
    slot.pid.store(pid, std::memory_order_release);
    return &slot;
  }
  return nullptr;
}

void Control::Set(wire::ProcessState state) noexcept {
  if (slot_ == nullptr) return;
  slot_->state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

void Control::Steps(std::uint32_t steps, std::uint32_t window) noexcept {
  if (slot_ == nullptr) return;
  slot_->steps.store(steps, std::memory_order_relaxed);
  slot_->window.store(window, std::memory_order_relaxed);
}

void Control::FileFailed(int error) noexcept {
  std::uint32_t none = 0;
  if (page_ == nullptr || error <= 0) return;
  page_->file_error.compare_exchange_strong(none, static_cast<std::uint32_t>(error),
                                            std::memory_order_relaxed);
}

bool Control::StopAsked() const noexcept {
  return page_ != nullptr && page_->stop.load(std::memory_order_relaxed) != 0;
}

Control::Steppers Control::LookAtSteppers() const noexcept {
  Steppers steppers;
  if (page_ == nullptr) return steppers;
  for (const wire::ProcessSlot& slot : page_->slots) {
    if (slot.pid.load(std::memory_order_relaxed) == 0) break;
    const auto state = static_cast<wire::ProcessState>(slot.state.load(std::memory_order_acquire));
    steppers.stepping = steppers.stepping || state == wire::ProcessState::kStepping;
    const bool closed =
        state == wire::ProcessState::kClosed || state == wire::ProcessState::kTiming;
    if (!closed || slot.steps.load(std::memory_order_relaxed) == 0) continue;
    steppers.closed = true;
    steppers.over = steppers.over || slot.window.load(std::memory_order_relaxed) > 0;
  }
  return steppers;
}

bool Control::SteppersClosed() const noexcept {
  const Steppers steppers = LookAtSteppers();
  return steppers.closed && !steppers.stepping;
}

bool Control::OverForAll() const noexcept {
  const Steppers steppers = LookAtSteppers();
  return steppers.over && !steppers.stepping;
}

bool Control::SomebodySteps() const noexcept { return LookAtSteppers().stepping; }

}  // namespace hone::collect
