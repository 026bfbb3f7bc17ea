// SPDX-License-Identifier: Apache-2.0
#include "collect/process_facts.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "collect/clock.h"

namespace hone::collect {
namespace {

std::string ReadCommandLine() {
  char text[4096];
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t size = read(fd, text, sizeof(text));
  close(fd);
  if (size <= 0) return {};
  std::string line(text, static_cast<std::size_t>(size));
  while (!line.empty() && line.back() == 0) line.pop_back();
  std::replace(line.begin(), line.end(), '\0', ' ');
  return line;
}

std::string ReadLink(const char* path) {
  char text[4096];
  const ssize_t size = readlink(path, text, sizeof(text));
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
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
  const ClockAnchor anchor = TakeAnchor();
  say("recorder", "hone " HONE_VERSION);
  say("pid", std::to_string(getpid()));
  say("ppid", std::to_string(getppid()));
  say("cmdline", ReadCommandLine());
  say("exe", ReadLink("/proc/self/exe"));
  say("cwd", ReadLink("/proc/self/cwd"));
  say("clock", g_counter_is_steady ? "counter" : "monotonic");
  say("start_realtime_ns", std::to_string(anchor.realtime_ns));
  say("start_monotonic_ns", std::to_string(anchor.monotonic_ns));
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) == 0) say("host", host);
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) {
    say("cores", std::to_string(CPU_COUNT(&cores)));
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
