// SPDX-License-Identifier: Apache-2.0
#include "record/machine_counters.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace hone::record {
namespace {

// One hundredth of the time between samples.
constexpr std::uint64_t kSlowNanos = 1'000'000;

constexpr double kSectorBytes = 512;  // of /proc/diskstats, whatever the disk's own

// Real disks: what is stacked on others (dm, md) would count twice, memory is none.
std::vector<std::string> WholeDisks() {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entries("/sys/block", error), end;
       !error && entries != end; entries.increment(error)) {
    std::string name = entries->path().filename().string();
    const auto starts = [&](const char* prefix) { return name.rfind(prefix, 0) == 0; };
    if (starts("loop") || starts("ram") || starts("zram") || starts("dm-") || starts("md"))
      continue;
    names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string FirstLineValue(const char* path, std::string_view key) {
  const std::string_view text = ReadOnce(path);
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return "";
  const std::size_t colon = text.find(':', at), end = text.find('\n', at);
  if (colon == std::string_view::npos || end == std::string_view::npos || colon > end) return "";
  return std::string(text.substr(colon + 2, end - colon - 2));
}

}  // namespace

MachineCounters::MachineCounters(CounterFile& file)
    : file_(file),
      track_(file.Name("machine")),
      load_("/proc/loadavg"),
      stat_("/proc/stat"),
      memory_("/proc/meminfo"),
      disks_("/proc/diskstats"),
      disk_names_(WholeDisks()) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::size_t allowed = 0;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (std::size_t i = 0; i < allowed_.size(); ++i) {
      allowed_[i] = CPU_ISSET(i, &set);
      if (allowed_[i]) ++allowed;
    }
  }
  const auto online = static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  if (allowed == 0) {  // more cores than the set holds
    allowed_.fill(true);
    allowed = static_cast<std::size_t>(online);
  }
  cores_ = static_cast<double>(allowed);
  if (group_.core_limit()) cores_ = std::min(cores_, *group_.core_limit());
  limited_ = cores_ < online;
  seconds_a_tick_ = 1.0 / static_cast<double>(std::max(1L, ::sysconf(_SC_CLK_TCK)));
  const std::string& folder = group_.pressure_folder();
  const auto pressure = [&](const char* kind) {
    return ProcFile(folder.empty() ? fmt::format("/proc/pressure/{}", kind)
                                   : fmt::format("{}/{}.pressure", folder, kind));
  };
  cpu_pressure_ = pressure("cpu");
  io_pressure_ = pressure("io");
  memory_pressure_ = pressure("memory");
  SayFacts();
}

void MachineCounters::SayFacts() {
  utsname names{};
  if (::uname(&names) == 0) {
    file_.Info("host", names.nodename);
    file_.Info("system", fmt::format("{} {} {}", names.sysname, names.release, names.machine));
  }
  const std::string model = FirstLineValue("/proc/cpuinfo", "model name");
  if (!model.empty()) file_.Info("cpu", model);
  file_.Info("cores_online", fmt::to_string(::sysconf(_SC_NPROCESSORS_ONLN)));
  file_.Info("cores_usable", fmt::format("{}", cores_));
  if (group_.core_limit()) file_.Info("cores_quota", fmt::format("{}", *group_.core_limit()));
  if (group_.memory_limit()) {
    file_.Info("memory_limit_bytes", fmt::format("{:.0f}", *group_.memory_limit()));
  }
  if (const auto kib = FindNumber(memory_.Read(), "MemTotal")) {
    file_.Info("memory_bytes", fmt::to_string(*kib * 1024));
  }
}

void MachineCounters::Put(const char* series, double value) {
  file_.Put(track_, file_.Name(series), value);
}

void MachineCounters::SampleCores() {
  const std::optional<CpuTicks> ticks = ParseSystemStat(stat_.Read(), allowed_);
  if (!ticks) return;
  Put("cpu_busy_seconds", static_cast<double>(ticks->busy) * seconds_a_tick_);
  const double idle_seconds = static_cast<double>(ticks->idle) * seconds_a_tick_;
  Put("cpu_idle_seconds", idle_seconds);
  idle_.Note(idle_seconds, MonotonicNanos());
  Put("cpu_iowait_seconds", static_cast<double>(ticks->waiting_for_disk) * seconds_a_tick_);
  Put("cpu_stolen_seconds", static_cast<double>(ticks->stolen) * seconds_a_tick_);
}

void MachineCounters::SampleDisks() {
  const std::string_view text = disks_.Read();
  double read = 0, written = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    // "  254  0 vda READS MERGED SECTORS MS WRITES MERGED SECTORS …"
    std::vector<std::string_view> words;
    for (std::size_t i = 0; i < line.size() && words.size() < 10;) {
      const std::size_t start = line.find_first_not_of(' ', i);
      if (start == std::string_view::npos) break;
      i = std::min(line.find(' ', start), line.size());
      words.push_back(line.substr(start, i - start));
    }
    if (words.size() < 10 ||
        !std::binary_search(disk_names_.begin(), disk_names_.end(), words[2])) {
      continue;
    }
    read += static_cast<double>(FirstNumber(words[5]).value_or(0)) * kSectorBytes;
    written += static_cast<double>(FirstNumber(words[9]).value_or(0)) * kSectorBytes;
  }
  if (disk_names_.empty()) return;
  Put("disk_read_bytes", read);
  Put("disk_written_bytes", written);
}

void MachineCounters::Sample() {
  Put("cpu_cores", cores_);
  if (!limited_) {
    const auto runnable = ParseRunnable(load_.Read());
    // One of them is this thread.
    if (runnable && *runnable > 0) Put("runnable_threads", static_cast<double>(*runnable - 1));
  }
  if (const auto usec = group_.ThrottledUsec()) {
    Put("throttled_usec", static_cast<double>(*usec));
  }
  if (const auto bytes = group_.MemoryBytes()) {
    Put("group_memory_bytes", static_cast<double>(*bytes));
  }
  if (samples_++ % (slow_ ? 10 : 1) == 0) {
    const std::uint64_t start = MonotonicNanos();
    SampleSlow();
    slow_ = MonotonicNanos() - start > kSlowNanos;
  }
}

void MachineCounters::SampleSlow() {
  SampleCores();
  if (const auto kib = FindNumber(memory_.Read(), "MemAvailable")) {
    Put("memory_available_bytes", static_cast<double>(*kib) * 1024);
  }
  const auto pressure = [&](const ProcFile& file, const char* series) {
    if (const auto usec = ParsePressure(file.Read())) Put(series, static_cast<double>(*usec));
  };
  pressure(cpu_pressure_, "cpu_pressure_usec");
  pressure(io_pressure_, "io_pressure_usec");
  pressure(memory_pressure_, "memory_pressure_usec");
  SampleDisks();
}

}  // namespace hone::record
