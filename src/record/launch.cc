// SPDX-License-Identifier: Apache-2.0
#include "record/launch.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hone::record {
namespace {

// Where execvp looks without PATH (confstr(_CS_PATH) of glibc).
constexpr const char* kDefaultPath = "/bin:/usr/bin";

std::string FirstBytes(const std::string& path, std::size_t bytes) {
  std::string text(bytes, '\0');
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t got = fd < 0 ? 0 : ::pread(fd, text.data(), text.size(), 0);
  if (fd >= 0) ::close(fd);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

// Of a text that begins with "#!"; empty: it does not.
std::string InterpreterOf(std::string_view head) {
  if (head.rfind("#!", 0) != 0) return {};
  const std::size_t start = head.find_first_not_of(" \t", 2);
  if (start == std::string_view::npos) return {};
  // The line need not end: a file may hold nothing else.
  const std::size_t end = std::min(head.find_first_of(" \t\n", start), head.size());
  return std::string(head.substr(start, end - start));
}

bool IsFile(const std::string& path, struct stat& status) {
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// Of a file that is there and may not be executed by anybody; empty: it may.
std::string NotExecutable(const std::string& path) {
  struct stat status {};
  if (!IsFile(path, status) || (status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0) return {};
  if (path.ends_with(".py")) {
    return fmt::format("{}: is not executable; write -- python {}", path, path);
  }
  return fmt::format("{}: is not executable; chmod +x {}, or name the program that reads it", path,
                     path);
}

std::string WhyNot(const std::string& path, int error) {
  if (error == EISDIR) return fmt::format("{}: is a folder, not a program", path);
  struct stat status {};
  const bool is_there = IsFile(path, status);
  if (error == ENOENT && !is_there) return fmt::format("{}: no such file", path);
  if (error == ENOENT) {
    // execve's word for what the file itself names.
    const std::string interpreter = InterpreterOf(FirstBytes(path, 4096));
    if (interpreter.empty()) {
      return fmt::format("{}: cannot be started: the loader that it was linked for is not there",
                         path);
    }
    // The carriage return is part of the name, which then looks like one that is there.
    if (interpreter.ends_with('\r')) {
      return fmt::format("{}: cannot be started: its lines end as on Windows; sed -i 's/\\r$//' {}",
                         path, path);
    }
    return fmt::format("{}: cannot be started: {}, which its first line names, is not there", path,
                       interpreter);
  }
  if (std::string why = NotExecutable(path); error == EACCES && !why.empty()) return why;
  return fmt::format("{}: cannot be started: {}", path, std::strerror(error));
}

FoundProgram Missing(const std::string& path, int error) {
  FoundProgram found;
  found.exit_code = error == ENOENT || error == ENOTDIR ? kExitNotFound : kExitNotExecutable;
  found.message = WhyNot(path, error);
  return found;
}

// A name without a slash, which PATH does not have. A file of that name is often in the current
// folder, where a shell does not look either.
std::string NotInPath(const std::string& name) {
  struct stat status {};
  if (name.empty() || !IsFile(name, status)) {
    return fmt::format("{}: no such program; is it in PATH?", name);
  }
  if (name.ends_with(".py")) {
    return fmt::format("{}: is a script, not a program; write -- python {}", name, name);
  }
  return fmt::format("{}: no such program in PATH; for the file in this folder write ./{}", name,
                     name);
}

// 0: a file that may be executed; else errno.
int CannotExecute(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  // exec takes char* and does not write through it.
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// What exec takes, made before a fork.
class Image {
 public:
  Image(const std::string& path, const std::vector<std::string>& command,
        const Variables& variables)
      : path_(path),
        shell_{"sh", path},
        arguments_(Pointers(command)),
        environment_(Pointers(variables)) {
    shell_.insert(shell_.end(), command.begin() + 1, command.end());
    shell_arguments_ = Pointers(shell_);
  }

  // Nothing but system calls. errno: why this process is still the one that it was.
  int Become(const InheritedSignals& signals) const {
    // Ignored by the launcher for itself (TakenSignals, Session).
    std::signal(SIGXFSZ, SIG_DFL);
    std::signal(SIGPIPE, SIG_DFL);
    for (const int number : signals.ignored) std::signal(number, SIG_IGN);
    ::sigprocmask(SIG_SETMASK, &signals.mask, nullptr);
    ::execve(path_.c_str(), arguments_.data(), environment_.data());
    // A script without "#!", which every shell runs by sh.
    if (errno == ENOEXEC) ::execve("/bin/sh", shell_arguments_.data(), environment_.data());
    return errno;
  }

 private:
  const std::string path_;
  std::vector<std::string> shell_;
  std::vector<char*> arguments_, environment_, shell_arguments_;
};

StartedProgram NotStarted(const std::string& path, int error) {
  const FoundProgram why = Missing(path, error);
  StartedProgram not_started;
  not_started.exit_code = why.exit_code;
  not_started.message = error == E2BIG ? fmt::format(
                                             "{}: cannot be started: the command line and the "
                                             "environment are too long for this system",
                                             path)
                                       : why.message;
  return not_started;
}

struct Closed {
  std::string why;  // empty: it is open
  bool refuses_preload = false;
};

Closed ClosedElf(const std::string& path, const std::string& head) {
  Elf64_Ehdr header{};
  if (head.size() < sizeof header) return {};
  std::memcpy(&header, head.data(), sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64) {
    return {fmt::format("{} is a 32-bit program, which hone cannot record", path)};
  }
  // Program headers follow the file's header in anything a linker makes.
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return {};
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    const std::size_t at = header.e_phoff + i * sizeof segment;
    if (at + sizeof segment > head.size()) return {};
    std::memcpy(&segment, head.data() + at, sizeof segment);
    if (segment.p_type != PT_INTERP) continue;
    // musl's loader does not start a program whose preloaded library it cannot load.
    const std::string loader = segment.p_offset < head.size()
                                   ? std::string(head.c_str() + segment.p_offset)
                                   : std::string();
    if (loader.find("/ld-musl-") == std::string::npos) return {};
    return {fmt::format("{} is built for another C library ({}), and hone's library needs glibc; "
                        "build it for glibc",
                        path, loader),
            true};
  }
  return {fmt::format(
      "{} is statically linked, so nothing can be loaded into it; link it dynamically", path)};
}

Closed LookAt(const std::string& path) {
  std::string program = path;
  // A chain of interpreters is at most this long for the kernel too (BINPRM_MAX_RECURSION).
  for (int i = 0; i < 5; ++i) {
    struct stat status {};
    if (::stat(program.c_str(), &status) != 0) return {};
    if ((status.st_mode & (S_ISUID | S_ISGID)) != 0 && ::geteuid() != status.st_uid) {
      return {
          fmt::format("{} runs with another user's rights (setuid), and the system loads "
                      "nothing foreign into it",
                      program)};
    }
    const std::string head = FirstBytes(program, 4096);
    if (head.rfind("\177ELF", 0) == 0) return ClosedElf(program, head);
    program = InterpreterOf(head);
    if (program.empty()) return {};
  }
  return {};
}

}  // namespace

FoundProgram FindProgram(const std::string& name, const Variables& variables) {
  if (name.find('/') != std::string::npos) {
    const int error = CannotExecute(name);
    return error == 0 ? FoundProgram{name, 0, ""} : Missing(name, error);
  }
  const char* own = FindVariable(variables, "PATH");
  const std::string_view path = own == nullptr ? kDefaultPath : own;
  std::string denied;
  for (std::size_t at = 0; !name.empty() && at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string folder(path.substr(at, end - at));
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    const int error = CannotExecute(candidate);
    if (error == 0) return {candidate, 0, ""};
    if (error == EACCES && denied.empty()) denied = candidate;
    at = end + 1;
  }
  if (!denied.empty()) return Missing(denied, EACCES);
  FoundProgram none;
  none.exit_code = kExitNotFound;
  none.message = NotInPath(name);
  return none;
}

InheritedSignals CurrentSignals() {
  InheritedSignals signals;
  ::sigprocmask(SIG_SETMASK, nullptr, &signals.mask);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) {
      signals.ignored.push_back(number);
    }
  }
  return signals;
}

StartedProgram StartProgram(const std::string& path, const std::vector<std::string>& command,
                            const Variables& variables, const InheritedSignals& signals,
                            const ProgramStreams& streams) {
  const Image image(path, command, variables);
  int failed[2];
  if (::pipe2(failed, O_CLOEXEC) != 0) return NotStarted(path, errno);
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (streams.own_group) ::setpgid(0, 0);
    if (streams.in >= 0) ::dup2(streams.in, STDIN_FILENO);
    if (streams.out >= 0) ::dup2(streams.out, STDOUT_FILENO);
    if (streams.err >= 0) ::dup2(streams.err, STDERR_FILENO);
    const int error = image.Become(signals);
    [[maybe_unused]] const ssize_t told = ::write(failed[1], &error, sizeof error);
    ::_exit(kExitNotFound);
  }
  int error = pid < 0 ? errno : 0;
  ::close(failed[1]);
  // End of file when exec has closed the other end: the image stands.
  while (pid > 0 && ::read(failed[0], &error, sizeof error) < 0 && errno == EINTR) {
  }
  ::close(failed[0]);
  if (error != 0) return NotStarted(path, error);
  StartedProgram started;
  started.pid = pid;
  return started;
}

StartedProgram BecomeProgram(const std::string& path, const std::vector<std::string>& command,
                             const Variables& variables, const InheritedSignals& signals) {
  return NotStarted(path, Image(path, command, variables).Become(signals));
}

std::string WhyClosed(const std::string& path) { return LookAt(path).why; }
bool RefusesPreload(const std::string& path) { return LookAt(path).refuses_preload; }

}  // namespace hone::record
