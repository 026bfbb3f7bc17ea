// SPDX-License-Identifier: Apache-2.0
#include "bench/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

namespace hone::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTickMs = 100;
constexpr double kGraceSeconds = 2;  // between asking and killing
// For a program to end by itself when its steps are done. Launchers take a second or two.
constexpr double kDoneSeconds = 4;

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Closes itself.
struct Descriptor {
  explicit Descriptor(int number) : fd(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  const int fd;
};

// A file that hone was given is each child's from its beginning; a pipe could be read only once.
int OpenInput() {
  struct stat status {};
  if (::fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode)) {
    const int fd = ::open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) return fd;
  }
  return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

Steppers Look(const ChildOptions& options) {
  return options.steppers.empty() ? Steppers() : LookAtSteppers(options.steppers);
}

}  // namespace

Result<ChildRunner> ChildRunner::Prepare() {
  constexpr int kTaken[] = {SIGINT, SIGTERM, SIGHUP};
  Result<record::TakenSignals> signals = record::TakenSignals::Take(kTaken);
  if (!signals) return std::move(signals).error();
  return ChildRunner(std::move(*signals));
}

void ChildRunner::TakeSignals(int timeout_ms) {
  pollfd waiting{signals_.fd(), POLLIN, 0};
  ::poll(&waiting, 1, timeout_ms);
  signalfd_siginfo info{};
  while (::read(signals_.fd(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo != SIGCHLD) interrupted_ = true;
  }
}

bool ChildRunner::interrupted() {
  TakeSignals(0);
  return interrupted_;
}

Result<ChildOutcome> ChildRunner::Run(const ChildOptions& options,
                                      const std::function<void()>& tick) {
  const record::FoundProgram program = record::FindProgram(options.command[0], options.variables);
  if (program.path.empty()) return Error(program.message);
  const Descriptor input(OpenInput());
  const Descriptor output(
      ::open(options.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
  if (output.fd < 0) {
    return Error(fmt::format("{}: cannot be written: {}", options.output, std::strerror(errno)));
  }
  ChildOutcome outcome;
  const Clock::time_point start = Clock::now();
  const record::StartedProgram started =
      record::StartProgram(program.path, options.command, options.variables, signals_.inherited(),
                           {input.fd, output.fd, output.fd, true});
  if (started.pid < 0) return Error(started.message);
  const pid_t group = started.pid;
  double asked_at = 0, done_at = 0, lost_at = 0;
  int status = 0;
  rusage usage{};
  while (::wait4(started.pid, &status, WNOHANG, &usage) == 0) {
    TakeSignals(kTickMs);
    tick();
    const double elapsed = Since(start);
    outcome.interrupted = interrupted_;
    // Neither done nor lost any more where it starts another process that steps.
    const Steppers steppers = Look(options);
    const auto since = [elapsed](bool is, double at) { return !is ? 0 : at > 0 ? at : elapsed; };
    done_at = since(steppers.done, done_at);
    lost_at = since(steppers.lost.has_value(), lost_at);
    outcome.done = outcome.done || (done_at > 0 && elapsed - done_at > kDoneSeconds);
    if (asked_at == 0) {
      outcome.lost = steppers.lost;
      outcome.waited_for_lost = lost_at > 0 && elapsed - lost_at > options.lost_s;
    }
    outcome.timed_out = outcome.timed_out || (options.timeout_s > 0 && done_at == 0 &&
                                              !outcome.done && elapsed > options.timeout_s);
    if (!outcome.interrupted && !outcome.timed_out && !outcome.done && !outcome.waited_for_lost) {
      continue;
    }
    if (asked_at == 0) ::kill(-group, SIGTERM);
    if (asked_at == 0) asked_at = elapsed;
    if (elapsed - asked_at > kGraceSeconds) ::kill(-group, SIGKILL);
  }
  const Clock::time_point end = Clock::now();
  outcome.start_ns = std::chrono::nanoseconds(start.time_since_epoch()).count();
  outcome.end_ns = std::chrono::nanoseconds(end.time_since_epoch()).count();
  outcome.wall_s = static_cast<double>(outcome.end_ns - outcome.start_ns) * 1e-9;
  if (asked_at == 0) outcome.lost = Look(options).lost;
  ::kill(-group, SIGKILL);
  outcome.done = outcome.done || Look(options).done;
  outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  outcome.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  outcome.cpu_s = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  outcome.peak_rss_bytes = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
  return outcome;
}

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string LastLines(const std::string& path, std::size_t most) {
  constexpr std::streamoff kEnd = 64 * 1024;  // programs print gigabytes
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kEnd));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> lines;
  for (std::size_t end = text.size(); end > 0 && lines.size() < most;) {
    const std::size_t before = text.rfind('\n', end - 1);
    const std::size_t start = before == std::string::npos ? 0 : before + 1;
    const std::string line = text.substr(start, end - start);
    if (line.find_first_not_of(" \t\r\n") != std::string::npos) lines.push_back(line);
    end = before == std::string::npos ? 0 : before;
  }
  std::string joined;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    joined += (joined.empty() ? "" : " | ") + *line;
  }
  constexpr std::size_t kMost = 300;
  return joined.size() > kMost ? "..." + joined.substr(joined.size() - kMost) : joined;
}

}  // namespace hone::bench
