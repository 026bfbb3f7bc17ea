// SPDX-License-Identifier: Apache-2.0
// Control: this process's slot in the page it shares with `hone run` and its siblings.
#pragma once

#include <cstdint>

#include "wire/control_page.h"

namespace hone::collect {

class Control {
 public:
  void Attach(const char* folder) noexcept;  // without a page everything below is quiet
  void Forked() noexcept { slot_ = nullptr; }
  // The process's file could not be made, or written any more: errno. The first one is told.
  void FileFailed(int error) noexcept;
  void Set(wire::ProcessState state) noexcept;
  void Steps(std::uint32_t steps, std::uint32_t window) noexcept;

  // There is a page, and 256 processes have all of it: `hone run` does not see this one.
  bool crowded_out() const noexcept { return page_ != nullptr && slot_ == nullptr; }
  bool StopAsked() const noexcept;
  // Whether some process counted steps, and all those have closed their windows.
  bool SteppersClosed() const noexcept;
  // The same of windows that do not come back: whoever starts now is late.
  bool OverForAll() const noexcept;
  bool SomebodySteps() const noexcept;

 private:
  wire::ProcessSlot* TakeSlot() const noexcept;

  struct Steppers {
    bool stepping = false, closed = false, over = false;
  };
  Steppers LookAtSteppers() const noexcept;

  wire::ControlPage* page_ = nullptr;
  wire::ProcessSlot* slot_ = nullptr;
};

}  // namespace hone::collect
