// SPDX-License-Identifier: Apache-2.0
// TakenSignals: signals that this process reads from a descriptor while it lives, instead of being
// interrupted or ended by them; with SIGCHLD, so that one poll(2) sees both signals and children.
#pragma once

#include <csignal>
#include <span>

#include "base/result.h"
#include "record/launch.h"

namespace hone::record {

// Of `numbers` those that this process was not started to ignore: blocked, a signal reaches us even
// where it is ignored (nohup), and it must not.
sigset_t NotIgnored(std::span<const int> numbers, const InheritedSignals& inherited);

class TakenSignals {
 public:
  // Blocks those of `numbers` that are not ignored, and SIGCHLD; the process must have one thread.
  // A limit on the size of files (SIGXFSZ) shows as an error of the write.
  static Result<TakenSignals> Take(std::span<const int> numbers);
  TakenSignals(TakenSignals&& other) noexcept;
  TakenSignals& operator=(TakenSignals&&) = delete;
  // All is again what it was, so that the next one finds what the user had.
  ~TakenSignals();

  int fd() const { return fd_; }  // a signalfd that does not block
  // What a program that is started now is to have.
  const InheritedSignals& inherited() const { return inherited_; }

 private:
  using Handler = void (*)(int);
  TakenSignals(int fd, Handler file_size, InheritedSignals inherited);

  int fd_ = -1;
  Handler file_size_ = SIG_DFL;  // of SIGXFSZ before
  InheritedSignals inherited_;
};

}  // namespace hone::record
