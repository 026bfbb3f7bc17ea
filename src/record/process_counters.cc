// SPDX-License-Identifier: Apache-2.0
#include "record/process_counters.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>

namespace hone::record {
namespace {

constexpr std::uint32_t kLooksBetweenSearches = 5;   // half a second
constexpr std::uint32_t kLooksBetweenRankings = 20;  // two seconds
// A program's threads start with its first operators: until then every half second, or a window of
// two seconds would end before they are known.
constexpr std::uint32_t kLooksOfTheStart = 40;
constexpr std::uint32_t kLooksUntilForgotten = 100;  // numbers of processes are used again

// Entries of a folder whose names are numbers.
void ForEachNumber(const char* folder, const std::function<void(std::uint32_t)>& call) {
  DIR* const entries = ::opendir(folder);
  if (entries == nullptr) return;
  while (const dirent* entry = ::readdir(entries)) {
    std::uint32_t number = 0;
    const char* const end = entry->d_name + std::strlen(entry->d_name);
    const auto [after, error] = std::from_chars(entry->d_name, end, number);
    if (error == std::errc() && after == end) call(number);
  }
  ::closedir(entries);
}

std::string NameOfThread(std::uint32_t pid, std::uint32_t tid) {
  std::string name(ReadOnce(fmt::format("/proc/{}/task/{}/comm", pid, tid).c_str()));
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

}  // namespace

ProcessCounters::ProcessCounters(CounterFile& file, std::uint32_t root) : file_(file) {
  page_bytes_ = static_cast<double>(std::max(1L, ::sysconf(_SC_PAGESIZE)));
  seconds_a_tick_ = 1.0 / static_cast<double>(std::max(1L, ::sysconf(_SC_CLK_TCK)));
  Add(root);
}

void ProcessCounters::Add(std::uint32_t pid) {
  if (!ours_.insert(pid).second) return;
  others_.erase(pid);
  if (processes_.size() >= kMostProcesses) {
    ++processes_left_out_;
    return;
  }
  Process process;
  process.pid = pid;
  process.stat = ProcFile(fmt::format("/proc/{}/stat", pid));
  if (!process.stat.is_open()) return;
  process.io = ProcFile(fmt::format("/proc/{}/io", pid));
  process.status = ProcFile(fmt::format("/proc/{}/status", pid));
  process.track = file_.Name(fmt::format("process {}", pid));
  processes_.push_back(std::move(process));
}

// Parents have the lower numbers as a rule, and what is missed is found half a second later.
void ProcessCounters::FindChildren() {
  std::vector<std::uint32_t> fresh;
  ForEachNumber("/proc", [&](std::uint32_t pid) {
    if (ours_.count(pid) == 0 && others_.count(pid) == 0) fresh.push_back(pid);
  });
  std::sort(fresh.begin(), fresh.end());
  for (const std::uint32_t pid : fresh) {
    const auto stat = ParseStat(ReadOnce(fmt::format("/proc/{}/stat", pid).c_str()));
    if (!stat) continue;
    if (ours_.count(stat->parent) > 0) {
      Add(pid);
    } else {
      others_.insert(pid);
    }
  }
}

void ProcessCounters::FindBusiest(bool rank, bool count_runnable) {
  struct Ranked {
    std::uint32_t pid, tid;
    std::uint64_t ticks;
  };
  std::vector<Ranked> ranked;
  std::unordered_map<std::uint32_t, std::uint64_t> ticks_now;
  std::size_t looked_at = 0;
  std::uint64_t left_out = 0, runnable = 0;
  for (const Process& process : processes_) {
    const std::string folder = fmt::format("/proc/{}/task", process.pid);
    ForEachNumber(folder.c_str(), [&](std::uint32_t tid) {
      if (looked_at >= kMostThreads) {
        ++left_out;
        return;
      }
      ++looked_at;
      const auto stat = ParseStat(ReadOnce(fmt::format("{}/{}/stat", folder, tid).c_str()));
      if (!stat) return;
      if (stat->state == 'R') ++runnable;
      ticks_now[tid] = stat->cpu_ticks;
      const auto before = thread_ticks_.find(tid);
      const std::uint64_t used =
          stat->cpu_ticks -
          (before == thread_ticks_.end() ? 0 : std::min(before->second, stat->cpu_ticks));
      if (used > 0) ranked.push_back({process.pid, tid, used});
    });
  }
  thread_ticks_ = std::move(ticks_now);
  threads_left_out_ = std::max(threads_left_out_, left_out);
  if (count_runnable) {
    file_.Put(file_.Name("machine"), file_.Name("runnable_threads"), static_cast<double>(runnable));
  }
  if (!rank) return;
  const std::size_t keep = std::min(ranked.size(), kBusiest);
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(keep),
                    ranked.end(),
                    [](const Ranked& a, const Ranked& b) { return a.ticks > b.ticks; });
  std::vector<Thread> busiest;
  for (std::size_t i = 0; i < keep; ++i) {
    const auto [pid, tid, ticks] = ranked[i];
    const auto kept = std::find_if(busiest_.begin(), busiest_.end(),
                                   [tid = tid](const Thread& thread) { return thread.tid == tid; });
    if (kept != busiest_.end()) {
      busiest.push_back(std::move(*kept));
      continue;
    }
    Thread thread;
    thread.pid = pid;
    thread.tid = tid;
    thread.schedule = ProcFile(fmt::format("/proc/{}/task/{}/schedstat", pid, tid));
    if (!thread.schedule.is_open()) continue;
    thread.track = file_.Name(fmt::format("thread {}/{} {}", pid, tid, NameOfThread(pid, tid)));
    busiest.push_back(std::move(thread));
  }
  busiest_ = std::move(busiest);
}

bool ProcessCounters::SampleProcess(Process& process) {
  const auto stat = ParseStat(process.stat.Read());
  if (!stat || stat->state == 'Z' || stat->state == 'X') return false;
  const auto put = [&](const char* series, double value) {
    file_.Put(process.track, file_.Name(series), value);
  };
  put("cpu_seconds", static_cast<double>(stat->cpu_ticks) * seconds_a_tick_);
  put("rss_bytes", static_cast<double>(stat->rss_pages) * page_bytes_);
  put("threads", static_cast<double>(stat->threads));
  put("minor_faults", static_cast<double>(stat->minor_faults));
  put("major_faults", static_cast<double>(stat->major_faults));
  const auto copy = [&](std::string_view text, const char* name, const char* series) {
    if (const auto value = FindNumber(text, name)) put(series, static_cast<double>(*value));
  };
  const std::string_view io = process.io.Read();
  copy(io, "rchar", "read_bytes");
  copy(io, "read_bytes", "disk_read_bytes");
  copy(io, "wchar", "written_bytes");
  copy(io, "write_bytes", "disk_written_bytes");
  const std::string_view status = process.status.Read();
  copy(status, "voluntary_ctxt_switches", "voluntary_switches");
  copy(status, "nonvoluntary_ctxt_switches", "involuntary_switches");
  return true;
}

void ProcessCounters::Sample(bool count_runnable) {
  if (looks_ % kLooksUntilForgotten == 0) others_.clear();
  if (looks_ % kLooksBetweenSearches == 0) FindChildren();
  const bool search = looks_ % kLooksBetweenSearches == 0;
  const bool rank = looks_ % kLooksBetweenRankings == 0 || (search && looks_ < kLooksOfTheStart);
  if (rank || (count_runnable && search)) FindBusiest(rank, count_runnable);
  ++looks_;
  std::erase_if(processes_, [&](Process& process) {
    if (SampleProcess(process)) return false;
    ours_.erase(process.pid);  // the number may come again
    return true;
  });
  for (const Thread& thread : busiest_) {
    const auto schedule = ParseSchedule(thread.schedule.Read());
    if (!schedule) continue;
    file_.Put(thread.track, file_.Name("cpu_seconds"),
              static_cast<double>(schedule->ran_ns) * 1e-9);
    file_.Put(thread.track, file_.Name("wait_for_core_seconds"),
              static_cast<double>(schedule->waited_ns) * 1e-9);
  }
}

void ProcessCounters::Finish() {
  if (processes_left_out_ > 0) {
    file_.Loss(
        "processes", processes_left_out_,
        fmt::format("more than {} processes at a time; the rest have no counters", kMostProcesses));
  }
  if (threads_left_out_ > 0) {
    file_.Loss("threads", threads_left_out_,
               fmt::format("more than {} threads; the rest were not looked at for the busiest",
                           kMostThreads));
  }
}

}  // namespace hone::record
