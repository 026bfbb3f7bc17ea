// SPDX-License-Identifier: Apache-2.0
#include "record/taken_signals.h"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace hone::record {

sigset_t NotIgnored(std::span<const int> numbers, const InheritedSignals& inherited) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : numbers) {
    const bool ignored = std::find(inherited.ignored.begin(), inherited.ignored.end(), number) !=
                         inherited.ignored.end();
    if (!ignored) ::sigaddset(&set, number);
  }
  return set;
}

TakenSignals::TakenSignals(int fd, Handler file_size, InheritedSignals inherited)
    : fd_(fd), file_size_(file_size), inherited_(std::move(inherited)) {}

TakenSignals::TakenSignals(TakenSignals&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      file_size_(other.file_size_),
      inherited_(std::move(other.inherited_)) {}

TakenSignals::~TakenSignals() {
  if (fd_ < 0) return;
  ::close(fd_);
  std::signal(SIGXFSZ, file_size_);
  ::sigprocmask(SIG_SETMASK, &inherited_.mask, nullptr);
}

Result<TakenSignals> TakenSignals::Take(std::span<const int> numbers) {
  InheritedSignals inherited = CurrentSignals();
  sigset_t ours = NotIgnored(numbers, inherited);
  // Ignored, it would make children vanish without a status.
  std::signal(SIGCHLD, SIG_DFL);
  ::sigaddset(&ours, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &ours, nullptr);
  const int fd = ::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) {
    const int error = errno;
    ::sigprocmask(SIG_SETMASK, &inherited.mask, nullptr);
    return Error(fmt::format("cannot watch signals: {}; raise the limit of open files (ulimit -n)",
                             std::strerror(error)));
  }
  // A limit on the size of files ends what is written, not us.
  return TakenSignals(fd, std::signal(SIGXFSZ, SIG_IGN), std::move(inherited));
}

}  // namespace hone::record
