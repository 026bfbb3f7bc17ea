// SPDX-License-Identifier: Apache-2.0
#include "collect/process_facts.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "collect/clock.h"

namespace hone::collect {
namespace {

// Nothing here allocates: the program may have no memory left.
using Text = char[4096];

std::string_view ReadCommandLine(Text& text) {
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t size = read(fd, text, sizeof(text));
  close(fd);
  if (size <= 0) return {};
  std::string_view line(text, static_cast<std::size_t>(size));
  while (!line.empty() && line.back() == 0) line.remove_suffix(1);
  std::replace(text, text + line.size(), '\0', ' ');
  return line;
}

std::string_view ReadLink(const char* path, Text& text) {
  const ssize_t size = readlink(path, text, sizeof(text));
  return {text, size > 0 ? static_cast<std::size_t>(size) : 0};
}

// The first of these variables that is set: torchrun, Open MPI, MPICH, Slurm.
struct LauncherFact {
  const char* key;
  const char* variables[4];
};
constexpr LauncherFact kLauncherFacts[] = {
    {"rank", {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}},
    {"local_rank",
     {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}},
    {"world_size", {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}},
};

}  // namespace

void WriteProcessFacts(Output& output) noexcept {
  const auto say = [&](const char* key, std::string_view value) {
    if (!value.empty()) output.Row(wire::Table::kInfo, key, value);
  };
  Text text;
  const auto say_number = [&](const char* key, std::int64_t value) {
    const int length = std::snprintf(text, sizeof(text), "%" PRId64, value);
    say(key, {text, static_cast<std::size_t>(length)});
  };
  const ClockAnchor anchor = TakeAnchor();
  say("recorder", "hone " HONE_VERSION);
  say_number("pid", getpid());
  say_number("ppid", getppid());
  say("cmdline", ReadCommandLine(text));
  say("exe", ReadLink("/proc/self/exe", text));
  say("cwd", ReadLink("/proc/self/cwd", text));
  say("clock", g_counter_is_steady ? "counter" : "monotonic");
  say_number("start_realtime_ns", static_cast<std::int64_t>(anchor.realtime_ns));
  say_number("start_monotonic_ns", static_cast<std::int64_t>(anchor.monotonic_ns));
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) == 0) say("host", host);
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) {
    say_number("cores", CPU_COUNT(&cores));
  }
  for (const LauncherFact& fact : kLauncherFacts) {
    for (const char* variable : fact.variables) {
      const char* value = std::getenv(variable);
      if (value == nullptr || *value == 0) continue;
      say(fact.key, value);
      break;
    }
  }
}

}  // namespace hone::collect
