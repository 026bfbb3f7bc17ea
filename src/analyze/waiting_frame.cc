// SPDX-License-Identifier: Apache-2.0
#include "analyze/waiting_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "analyze/source_frame.h"

namespace hone::analyze {
namespace {

// A built-in as Python's repr shows it: "<built-in method acquire of _thread.lock object at 0x…>",
// "<method 'acquire' of '_thread.lock' objects>", "<built-in function sleep>".
struct Builtin {
  std::string_view function, type;
};

std::string_view Unquoted(std::string_view text) {
  if (text.starts_with('\'')) text.remove_prefix(1);
  if (text.ends_with('\'')) text.remove_suffix(1);
  return text;
}

Builtin ParseBuiltin(std::string_view name) {
  for (const std::string_view head : {"<built-in method ", "<built-in function ", "<method "}) {
    if (!name.starts_with(head) || !name.ends_with('>')) continue;
    name.remove_prefix(head.size());
    name.remove_suffix(1);
    const std::size_t of = name.find(" of ");
    if (of == std::string_view::npos) return {Unquoted(name), {}};
    std::string_view type = name.substr(of + 4);
    type = type.substr(0, type.find(" object"));
    return {Unquoted(name.substr(0, of)), Unquoted(type)};
  }
  return {};
}

struct Row {
  std::string_view where;     // the last part of a type's name, or the end of a file's path
  std::string_view function;  // "": any; "recv*": any that begins so
  WaitsFor what;
};

// Methods written in C. A lock is taken at once as a rule; a frame that takes time waits.
constexpr Row kTypes[] = {
    {"epoll", "poll", WaitsFor::kOutside},
    {"poll", "poll", WaitsFor::kOutside},
    {"devpoll", "poll", WaitsFor::kOutside},
    {"kqueue", "control", WaitsFor::kOutside},
    {"socket", "recv*", WaitsFor::kOutside},
    {"socket", "accept", WaitsFor::kOutside},
    {"socket", "_accept", WaitsFor::kOutside},
    {"socket", "connect*", WaitsFor::kOutside},
    {"Socket", "recv*", WaitsFor::kOutside},  // ZeroMQ
    {"Socket", "poll", WaitsFor::kOutside},
    {"_SSLSocket", "read", WaitsFor::kOutside},
    {"_SSLSocket", "do_handshake", WaitsFor::kOutside},
    {"lock", "acquire", WaitsFor::kThread},
    {"lock", "__enter__", WaitsFor::kThread},
    {"RLock", "acquire", WaitsFor::kThread},
    {"RLock", "__enter__", WaitsFor::kThread},
    {"SemLock", "acquire", WaitsFor::kThread},
    {"SemLock", "__enter__", WaitsFor::kThread},
    {"SimpleQueue", "get", WaitsFor::kThread},
};
constexpr Row kFunctions[] = {
    {"", "sleep", WaitsFor::kClock},    {"", "select", WaitsFor::kOutside},
    {"", "waitpid", WaitsFor::kThread}, {"", "wait4", WaitsFor::kThread},
    {"", "waitid", WaitsFor::kThread},
};
// Functions of the standard library and of ZeroMQ that do nothing else: their files from their
// package on, since recorders cut paths there.
constexpr Row kFiles[] = {
    {"selectors.py", "select", WaitsFor::kOutside},
    {"socket.py", "accept", WaitsFor::kOutside},
    {"socket.py", "readinto", WaitsFor::kOutside},
    {"socket.py", "create_connection", WaitsFor::kOutside},
    {"ssl.py", "read", WaitsFor::kOutside},
    {"ssl.py", "recv*", WaitsFor::kOutside},
    {"zmq/sugar/socket.py", "recv*", WaitsFor::kOutside},
    {"zmq/sugar/socket.py", "poll", WaitsFor::kOutside},
    {"zmq/sugar/poll.py", "poll", WaitsFor::kOutside},
    {"queue.py", "get", WaitsFor::kThread},
    {"queue.py", "join", WaitsFor::kThread},
    {"threading.py", "wait", WaitsFor::kThread},
    {"threading.py", "wait_for", WaitsFor::kThread},
    {"threading.py", "join", WaitsFor::kThread},
    {"threading.py", "acquire", WaitsFor::kThread},
    {"threading.py", "_wait_for_tstate_lock", WaitsFor::kThread},
    {"concurrent/futures/_base.py", "result", WaitsFor::kThread},
    {"concurrent/futures/_base.py", "wait", WaitsFor::kThread},
    {"multiprocessing/queues.py", "get", WaitsFor::kThread},
    {"multiprocessing/connection.py", "recv*", WaitsFor::kThread},
    {"multiprocessing/connection.py", "_recv*", WaitsFor::kThread},
    {"multiprocessing/connection.py", "poll", WaitsFor::kThread},
    {"multiprocessing/connection.py", "wait", WaitsFor::kThread},
    {"multiprocessing/connection.py", "accept", WaitsFor::kThread},
    {"multiprocessing/pool.py", "get", WaitsFor::kThread},
    {"multiprocessing/pool.py", "wait", WaitsFor::kThread},
    {"multiprocessing/pool.py", "next", WaitsFor::kThread},
    {"multiprocessing/synchronize.py", "wait", WaitsFor::kThread},
    {"multiprocessing/process.py", "join", WaitsFor::kThread},
    {"subprocess.py", "wait", WaitsFor::kThread},
    {"subprocess.py", "_wait", WaitsFor::kThread},
    {"subprocess.py", "communicate", WaitsFor::kThread},
    {"subprocess.py", "_communicate", WaitsFor::kThread},
};

bool IsNamed(std::string_view function, std::string_view pattern) {
  if (!pattern.ends_with('*')) return function == pattern;
  return function.starts_with(pattern.substr(0, pattern.size() - 1));
}

// "a/b.py" ends "/usr/lib/python3.11/a/b.py" and "a/b.py", and not "aa/b.py".
bool IsFile(std::string_view path, std::string_view file) {
  return path.ends_with(file) &&
         (path.size() == file.size() || path[path.size() - file.size() - 1] == '/');
}

std::string_view LastPart(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// A method's name may come with its class: "Queue.get".
std::string_view MethodOf(std::string_view function) { return LastPart(function); }

template <std::size_t kRows, typename Here>
WaitsFor Find(const Row (&rows)[kRows], std::string_view function, Here&& here) {
  const auto found = std::find_if(std::begin(rows), std::end(rows), [&](const Row& row) {
    return IsNamed(function, row.function) && here(row.where);
  });
  return found == std::end(rows) ? WaitsFor::kNothing : found->what;
}

}  // namespace

WaitsFor WaitOfFrame(std::string_view name) {
  const SourceFrame frame = ParseFrame(name);
  if (!frame.file.empty()) {
    // A program may have a queue.py of its own.
    if (IsUserFrame(frame)) return WaitsFor::kNothing;
    return Find(kFiles, MethodOf(frame.function),
                [&](std::string_view file) { return IsFile(frame.file, file); });
  }
  const Builtin builtin = ParseBuiltin(name);
  if (builtin.function.empty()) return WaitsFor::kNothing;
  if (builtin.type.empty()) {
    return Find(kFunctions, builtin.function, [](std::string_view) { return true; });
  }
  return Find(kTypes, builtin.function,
              [&](std::string_view type) { return LastPart(builtin.type) == type; });
}

std::string WaitText(std::string_view name) {
  const SourceFrame frame = ParseFrame(name);
  if (!frame.file.empty()) {
    std::string_view file = frame.file.substr(frame.file.rfind('/') + 1);
    if (file.ends_with(".py")) file.remove_suffix(3);
    return fmt::format("{}.{}", file, MethodOf(frame.function));
  }
  const Builtin builtin = ParseBuiltin(name);
  if (builtin.function.empty()) return std::string(name);
  if (builtin.type.empty()) return std::string(builtin.function);
  return fmt::format("{}.{}", LastPart(builtin.type), builtin.function);
}

}  // namespace hone::analyze
