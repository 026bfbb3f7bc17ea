// SPDX-License-Identifier: Apache-2.0
#include "record/limits.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>

namespace hone::record {
namespace {

// The control page is 6 KiB, the first chunks of a process some more.
constexpr rlim_t kLeastFile = 16U << 10;
// The page, the machine's file, signals, the sentinel's pipes and the program's are ten at once;
// the sampler opens some files of /proc.
constexpr std::size_t kLeastDescriptors = 16;

// They are counted by taking them: how many are in use, only /proc says, and that takes one.
bool CanOpen(std::size_t count) {
  std::array<int, kLeastDescriptors> taken{};
  std::size_t had = 0;
  while (had < count) {
    const int fd = ::open("/", O_PATH | O_CLOEXEC);
    if (fd < 0) break;
    taken[had++] = fd;
  }
  for (std::size_t i = 0; i < had; ++i) ::close(taken[i]);
  return had == count;
}

}  // namespace

std::string WhyLimitsForbid() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < kLeastFile) {
    return fmt::format(
        "files may have {} bytes here and a recording needs {}; raise the limit (ulimit -f)",
        limit.rlim_cur, kLeastFile);
  }
  if (!CanOpen(kLeastDescriptors) && ::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    return fmt::format(
        "{} files may be open here and hone needs {} beside those that are; raise the limit "
        "(ulimit -n)",
        limit.rlim_cur, kLeastDescriptors);
  }
  return "";
}

}  // namespace hone::record
