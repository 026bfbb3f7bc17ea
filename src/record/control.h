// SPDX-License-Identifier: Apache-2.0
// Control: the launcher's side of the control page (wire/control_page.h), and the folder it lies
// in.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/control_page.h"

namespace hone::record {

// The folder of a run, made now, as an absolute path. `wanted` empty: a fresh
// hone-NAME-DATE-TIME in the current folder. A folder that exists must be empty: nobody's files are
// written over.
Result<std::string> MakeRunFolder(const std::string& wanted, const std::string& name);

// Of a program that did not start: our files go, and the folder when nothing else is in it.
void ForgetRunFolder(const std::string& folder);

// What a program is called: the script that an interpreter or a launcher runs, else the program.
std::string NameOfCommand(const std::vector<std::string>& command);

// What a run's folder holds.
struct Recorded {
  std::size_t files = 0;  // of processes
  std::uint64_t bytes = 0;
};
Recorded LookInto(const std::string& folder);

struct SlotView {
  std::uint32_t pid = 0;
  wire::ProcessState state = wire::ProcessState::kFree;
  std::uint32_t steps = 0, window = 0;
  bool alive = false;  // the process has not ended, and is no zombie
};

class Control {
 public:
  // Makes the file, with its blocks: a full disk must show here, not as SIGBUS in the program.
  static Result<Control> Create(const std::string& folder, std::uint32_t steps_wanted);
  Control(Control&& other) noexcept;
  Control& operator=(Control&& other) noexcept;
  ~Control();

  // The slots that are taken. A few system calls a process that has not ended. One that is found
  // gone without a word is told as it was, and from then on as ended, to the other recorders too:
  // they would go on waiting for its steps.
  std::vector<SlotView> Read();
  // Every window is to be closed now.
  void Stop();
  // errno of the first process whose file could not be made, or written any more; 0: none.
  int FileError() const;

 private:
  explicit Control(wire::ControlPage* page) : page_(page) {}
  wire::ControlPage* page_ = nullptr;
  // Pids that were seen to live. Of the others it is not known that they can be: in a container
  // with pids of its own a process has another number here.
  std::array<std::uint32_t, wire::ControlPage::kSlots> seen_{};
};

}  // namespace hone::record
