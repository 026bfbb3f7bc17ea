// SPDX-License-Identifier: Apache-2.0
// ProcFile: a file of /proc, /sys or a control group that is read again and again. The descriptor
// stays open, so a read is one system call; the kernel writes the contents anew each time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hone::record {

class ProcFile {
 public:
  ProcFile() = default;
  explicit ProcFile(const std::string& path);  // not open when it cannot be
  ProcFile(ProcFile&& other) noexcept;
  ProcFile& operator=(ProcFile&& other) noexcept;
  ~ProcFile();

  bool is_open() const { return fd_ >= 0; }
  // The contents from the start, as far as they fit; empty when the process is gone. Valid until
  // the next Read of any ProcFile on this thread.
  std::string_view Read() const;

 private:
  int fd_ = -1;
};

// Once: opens, reads, closes.
std::string_view ReadOnce(const char* path);

// What is read from them. Each takes the text and gives nothing for a text it does not understand.

struct ProcessStat {  // /proc/PID/stat, and that of a thread
  char state = '?';
  std::uint32_t parent = 0;
  std::uint64_t minor_faults = 0, major_faults = 0;
  std::uint64_t cpu_ticks = 0;  // user and system, of sysconf(_SC_CLK_TCK)
  std::uint64_t threads = 0, start_ticks = 0, rss_pages = 0;
};
std::optional<ProcessStat> ParseStat(std::string_view text);

// "name: 123" or "name 123" at the start of a line, in units as they stand.
std::optional<std::uint64_t> FindNumber(std::string_view text, std::string_view name);

// The first number of the text; "max" gives nothing.
std::optional<std::uint64_t> FirstNumber(std::string_view text);

struct Schedule {  // /proc/PID/task/TID/schedstat
  std::uint64_t ran_ns = 0, waited_ns = 0;
};
std::optional<Schedule> ParseSchedule(std::string_view text);

// "some avg10=… total=N" of a pressure file: microseconds in which some task waited.
std::optional<std::uint64_t> ParsePressure(std::string_view text);

struct CpuTicks {  // of /proc/stat, over the cores asked for
  std::uint64_t busy = 0, idle = 0, waiting_for_disk = 0, stolen = 0;
};
// `cores`: numbers below 1,024.
std::optional<CpuTicks> ParseSystemStat(std::string_view text, const std::array<bool, 1024>& cores);

// "0.04 0.05 0.47 2/86 8776" of /proc/loadavg: threads of the machine that run or want to, the
// reader among them.
std::optional<std::uint64_t> ParseRunnable(std::string_view text);

}  // namespace hone::record
