// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/program.h"

namespace {

int RunGuarded(const std::vector<std::string>& arguments, hone::cli::Console& console) {
  // We throw nowhere; libraries may.
  try {
    return hone::cli::Program().Run(arguments, console);
  } catch (const std::bad_alloc&) {
    console.err << "hone: out of memory; try a shorter trace or a larger machine\n";
  } catch (const std::exception& error) {
    console.err << "hone: internal error: " << error.what() << "; please report it\n";
  } catch (...) {
    console.err << "hone: internal error; please report it\n";
  }
  return hone::cli::kExitFailed;
}

}  // namespace

int main(int argc, char** argv) {
  // `hone … | head` ends quietly, also under parents that ignore SIGPIPE (Python does).
  const bool pipe_was_ignored = std::signal(SIGPIPE, SIG_DFL) == SIG_IGN;
  std::ios::sync_with_stdio(false);
  hone::cli::Console console{std::cout, std::cerr, STDOUT_FILENO, STDERR_FILENO, pipe_was_ignored};
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  int code = RunGuarded(arguments, console);
  std::cout.flush();
  if (!std::cout) {
    console.err << "hone: standard output cannot be written\n";
    if (code == hone::cli::kExitFine) code = hone::cli::kExitFailed;
  }
  return code;
}
