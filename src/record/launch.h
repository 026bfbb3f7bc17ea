// SPDX-License-Identifier: Apache-2.0
// Starting the program as its user's shell would have: the same process group, terminal, standard
// streams, signal mask and dispositions, current folder and limits. Only the environment differs.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "record/environment.h"

namespace hone::record {

// What the shell says for a command that cannot be started.
inline constexpr int kExitNotExecutable = 126, kExitNotFound = 127;

struct FoundProgram {
  std::string path;  // empty: not found
  int exit_code = 0;
  std::string message;  // why not, one sentence
};

// As execvp: along PATH unless the name has a slash.
FoundProgram FindProgram(const std::string& name, const Variables& variables);

// What this process had when it started, which the program is to have.
struct InheritedSignals {
  sigset_t mask{};
  std::vector<int> ignored;
};
InheritedSignals CurrentSignals();

struct StartedProgram {
  pid_t pid = -1;  // -1: not started
  int exit_code = 0;
  std::string message;
};

// For a program that is measured, not watched: standard streams of its own (-1: as ours), and a
// process group of its own, which a key on the terminal does not reach and which can be ended
// whole.
struct ProgramStreams {
  int in = -1, out = -1, err = -1;
  bool own_group = false;
};

// Forks and executes; the calling process must have one thread. Returns when the program's image
// stands or cannot.
StartedProgram StartProgram(const std::string& path, const std::vector<std::string>& command,
                            const Variables& variables, const InheritedSignals& signals,
                            const ProgramStreams& streams = {});

// Becomes the program, as exec does, where nothing is to be watched. Returns where it cannot.
StartedProgram BecomeProgram(const std::string& path, const std::vector<std::string>& command,
                             const Variables& variables, const InheritedSignals& signals);

// Why a recorder cannot get into this program, from the file alone: statically linked, setuid,
// built for another machine or another C library than glibc. Follows "#!" to the interpreter.
// Empty: nothing stands in the way.
std::string WhyClosed(const std::string& path);
// Whether it would not even start with a library of ours preloaded.
bool RefusesPreload(const std::string& path);

}  // namespace hone::record
