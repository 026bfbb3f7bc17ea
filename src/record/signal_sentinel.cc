// SPDX-License-Identifier: Apache-2.0
#include "record/signal_sentinel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>  // program_invocation_name too
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

namespace hone::record {
namespace {

// Messages of one byte. To the sentinel: a question, whatever it holds. From it: the number of a
// signal, or this, which is none.
constexpr unsigned char kAnswer = 0;

// No longer than "hone run", which it takes the place of.
constexpr std::string_view kTitle = "signals";

// Its own command line, a piece of this process's memory.
struct CommandLine {
  char* start = nullptr;
  std::size_t bytes = 0;  // 0: not found, stays as it is
};

CommandLine FindCommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  char* const start = program_invocation_name;
  // The first word is where main was given it, unless somebody moved it.
  if (text.size() <= std::strlen(start) || std::strcmp(text.c_str(), start) != 0) return {};
  return {start, text.size()};
}

std::string TitleFor(const std::vector<std::string>& command) {
  std::string title(kTitle);
  for (const std::string& word : command) title += '\0' + word;
  return title;
}

void CloseAllBut(int kept) {
  const auto last = static_cast<unsigned>(kept);
  if ((last == 0 || ::close_range(0, last - 1, 0) == 0) && ::close_range(last + 1, ~0U, 0) == 0) {
    return;
  }
  // Linux before 5.9. A limit may be a billion; nobody has that many open.
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const int end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 16));
  for (int fd = 0; fd < end; ++fd) {
    if (fd != kept) ::close(fd);
  }
}

bool Tell(int line, unsigned char byte) {
  return ::send(line, &byte, sizeof byte, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof byte);
}

// In the child, after fork: nothing but system calls.
[[noreturn]] void BecomeSentinel(int line, const sigset_t& signals, pid_t launcher,
                                 CommandLine shown, const std::string& title) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(0);
  ::prctl(PR_SET_NAME, "signal-sentinel");
  if (shown.bytes > 0) {
    std::memset(shown.start, 0, shown.bytes);
    std::memcpy(shown.start, title.data(), std::min(title.size(), shown.bytes - 1));
  }
  CloseAllBut(line);
  const int got = ::signalfd(-1, &signals, SFD_NONBLOCK);
  if (got < 0) ::_exit(1);
  pollfd waiting[] = {{got, POLLIN, 0}, {line, POLLIN, 0}};
  for (;;) {
    if (::poll(waiting, 2, -1) <= 0) continue;
    const bool asked = waiting[1].revents != 0;
    // Before the answer, which says that nothing is left.
    signalfd_siginfo info{};
    while (::read(got, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      // What a terminal sends is not passed on anyway.
      if (info.ssi_code > 0) continue;
      if (!Tell(line, static_cast<unsigned char>(info.ssi_signo))) ::_exit(0);
    }
    if (!asked) continue;
    unsigned char question = 0;
    if (::recv(line, &question, sizeof question, 0) <= 0 || !Tell(line, kAnswer)) ::_exit(0);
  }
}

}  // namespace

void SignalSentinel::Start(const sigset_t& signals, const std::vector<std::string>& command) {
  int line[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0) return;
  const CommandLine shown = FindCommandLine();
  const std::string title = TitleFor(command);
  const pid_t launcher = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) BecomeSentinel(line[1], signals, launcher, shown, title);
  ::close(line[1]);
  line_ = line[0];
  if (pid_ < 0) End();
}

void SignalSentinel::End() {
  if (line_ >= 0) ::close(std::exchange(line_, -1));
  const pid_t pid = std::exchange(pid_, -1);
  if (pid <= 0) return;
  // Not waited for yet, so the number is still its own.
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void SignalSentinel::Reaped(pid_t pid) {
  if (pid == pid_) pid_ = -1;
}

void SignalSentinel::Listen(SignalRelay& relay, SignalRelay::Time now) {
  while (runs()) {
    unsigned char byte = 0;
    const ssize_t got = ::recv(line_, &byte, sizeof byte, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      End();
      relay.Answered();
    } else if (byte == kAnswer) {
      relay.Answered();
    } else {
      relay.Reported(byte, now);
    }
  }
}

bool SignalSentinel::Ask() {
  const unsigned char question = 0;
  return runs() && ::send(line_, &question, sizeof question, MSG_NOSIGNAL | MSG_DONTWAIT) ==
                       static_cast<ssize_t>(sizeof question);
}

}  // namespace hone::record
