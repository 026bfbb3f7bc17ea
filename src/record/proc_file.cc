// SPDX-License-Identifier: Apache-2.0
#include "record/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <utility>

namespace hone::record {
namespace {

// /proc/stat of a machine with 1,000 cores has about 100 KiB, most of it cores.
constexpr std::size_t kBufferBytes = 256U << 10;

char* Buffer() {
  static thread_local char buffer[kBufferBytes];
  return buffer;
}

std::string_view ReadFrom(int fd) {
  char* const buffer = Buffer();
  std::size_t size = 0;
  while (size < kBufferBytes) {
    const ssize_t got = ::pread(fd, buffer + size, kBufferBytes - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
    // Most are small and come whole; asking for more costs as much again.
    if (static_cast<std::size_t>(got) < 2048) break;
  }
  return {buffer, size};
}

// Numbers between blanks, one after the other.
class Numbers {
 public:
  explicit Numbers(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}
  std::optional<std::uint64_t> Next() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t')) ++at_;
    // Some fields may be below 0 (priority); none that is asked for.
    const bool minus = at_ < end_ && *at_ == '-';
    std::uint64_t value = 0;
    const auto [after, error] = std::from_chars(at_ + (minus ? 1 : 0), end_, value);
    if (error != std::errc()) return std::nullopt;
    at_ = after;
    return minus ? 0 : value;
  }
  bool Skip(int count) {
    for (int i = 0; i < count; ++i) {
      if (!Next()) return false;
    }
    return true;
  }

 private:
  const char* at_;
  const char* end_;
};

// The line that starts with `word` and a blank or colon; what stands behind it.
std::optional<std::string_view> LineOf(std::string_view text, std::string_view word) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const bool starts = line.substr(0, word.size()) == word && line.size() > word.size();
    if (starts && (line[word.size()] == ':' || line[word.size()] == ' ')) {
      return line.substr(word.size() + 1);
    }
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace

ProcFile::ProcFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
ProcFile::ProcFile(ProcFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
ProcFile& ProcFile::operator=(ProcFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
ProcFile::~ProcFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::string_view ProcFile::Read() const { return fd_ < 0 ? std::string_view() : ReadFrom(fd_); }

std::string_view ReadOnce(const char* path) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const std::string_view text = ReadFrom(fd);
  ::close(fd);
  return text;
}

std::optional<ProcessStat> ParseStat(std::string_view text) {
  // "PID (NAME) S PPID …": the name may hold blanks and parentheses.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 4 > text.size()) return std::nullopt;
  ProcessStat stat;
  stat.state = text[name_end + 2];
  Numbers numbers(text.substr(name_end + 3));
  const auto parent = numbers.Next();
  if (!parent || !numbers.Skip(5)) return std::nullopt;  // pgrp, session, tty, tpgid, flags
  const auto minor = numbers.Next();
  if (!minor || !numbers.Skip(1)) return std::nullopt;
  const auto major = numbers.Next();
  if (!major || !numbers.Skip(1)) return std::nullopt;
  const auto user = numbers.Next(), system = numbers.Next();
  if (!user || !system || !numbers.Skip(4)) return std::nullopt;  // of children; priority, nice
  const auto threads = numbers.Next();
  if (!threads || !numbers.Skip(1)) return std::nullopt;
  const auto start = numbers.Next();
  if (!start || !numbers.Skip(1)) return std::nullopt;
  const auto rss = numbers.Next();
  if (!rss) return std::nullopt;
  stat.parent = static_cast<std::uint32_t>(*parent);
  stat.minor_faults = *minor;
  stat.major_faults = *major;
  stat.cpu_ticks = *user + *system;
  stat.threads = *threads;
  stat.start_ticks = *start;
  stat.rss_pages = *rss;
  return stat;
}

std::optional<std::uint64_t> FindNumber(std::string_view text, std::string_view name) {
  const auto line = LineOf(text, name);
  return line ? Numbers(*line).Next() : std::nullopt;
}

std::optional<std::uint64_t> FirstNumber(std::string_view text) { return Numbers(text).Next(); }

std::optional<Schedule> ParseSchedule(std::string_view text) {
  Numbers numbers(text);
  const auto ran = numbers.Next(), waited = numbers.Next();
  if (!ran || !waited) return std::nullopt;
  return Schedule{*ran, *waited};
}

std::optional<std::uint64_t> ParsePressure(std::string_view text) {
  const auto line = LineOf(text, "some");
  if (!line) return std::nullopt;
  const std::size_t at = line->find("total=");
  return at == std::string_view::npos ? std::nullopt : FirstNumber(line->substr(at + 6));
}

std::optional<CpuTicks> ParseSystemStat(std::string_view text,
                                        const std::array<bool, 1024>& cores) {
  CpuTicks ticks;
  bool any = false;
  for (std::size_t at = 0; text.substr(at, 3) == "cpu";) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at + 3, end - at - 3);
    at = end + 1;
    if (line.empty() || line[0] == ' ') {
      if (at >= text.size()) break;
      continue;  // the sum over all
    }
    Numbers numbers(line);
    const auto core = numbers.Next();
    if (!core || *core >= cores.size() || !cores[*core]) continue;
    // user nice system idle iowait irq softirq steal; guests are in user and nice already.
    std::uint64_t part[8] = {};
    for (std::uint64_t& value : part) value = numbers.Next().value_or(0);
    ticks.busy += part[0] + part[1] + part[2] + part[5] + part[6];
    ticks.idle += part[3];
    ticks.waiting_for_disk += part[4];
    ticks.stolen += part[7];
    any = true;
  }
  if (!any) return std::nullopt;
  return ticks;
}

std::optional<std::uint64_t> ParseRunnable(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::size_t blank = text.rfind(' ', slash);
  return blank == std::string_view::npos ? std::nullopt
                                         : FirstNumber(text.substr(blank + 1, slash - blank - 1));
}

}  // namespace hone::record
