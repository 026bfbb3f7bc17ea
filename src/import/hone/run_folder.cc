// SPDX-License-Identifier: Apache-2.0
#include "import/hone/run_folder.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "wire/control_page.h"

namespace hone::importer::hone_file {
namespace {

namespace fs = std::filesystem;

// Without ranks, a second process is a job of its own when it did at least this share of the
// busiest one's work: ranks of one job do the same, what helps does less.
constexpr double kLike = 0.25;
// Where no device tells: loader workers run operators, too, and a worker's parent at least this
// share of what the worker runs (its training step); a launcher that only starts ranks runs next to
// none.
constexpr double kParent = 0.05;

// The parent of each file's process: an index, or none. One pid may have several files (exec): the
// busiest stands for it.
constexpr std::size_t kNone = SIZE_MAX;

std::vector<std::size_t> Parents(const std::vector<ProcessFile>& files) {
  std::unordered_map<std::int64_t, std::size_t> by_pid;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto [found, added] = by_pid.try_emplace(files[i].Number("pid"), i);
    if (!added && files[i].work() > files[found->second].work()) found->second = i;
  }
  std::vector<std::size_t> parents(files.size(), kNone);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::int64_t parent = files[i].Number("ppid");
    const auto found = by_pid.find(parent);
    if (parent > 0 && found != by_pid.end() && found->second != i) parents[i] = found->second;
  }
  return parents;
}

bool IsAncestor(const std::vector<std::size_t>& parents, std::size_t ancestor, std::size_t of) {
  // A pid that was used again can close a ring.
  for (std::size_t steps = 0; of != kNone && steps <= parents.size(); ++steps) {
    of = parents[of];
    if (of == ancestor) return true;
  }
  return false;
}

// The topmost process above this one, itself included, that is more than its launcher.
std::size_t Topmost(const std::vector<ProcessFile>& files, const std::vector<std::size_t>& parents,
                    std::size_t of) {
  const double least = kParent * static_cast<double>(files[of].host_rows);
  std::size_t top = of;
  std::size_t at = parents[of];
  for (std::size_t steps = 0; at != kNone && steps <= parents.size(); ++steps, at = parents[at]) {
    if (files[at].host_rows > 0 && static_cast<double>(files[at].host_rows) >= least) top = at;
  }
  return top;
}

// Busiest first: device work counts before host work, which loader workers have too.
bool Busier(const ProcessFile& a, const ProcessFile& b) {
  if (a.IsLoaderWorker() != b.IsLoaderWorker()) return b.IsLoaderWorker();
  if (a.device_rows != b.device_rows) return a.device_rows > b.device_rows;
  if (a.host_rows != b.host_rows) return a.host_rows > b.host_rows;
  return a.sample_rows > b.sample_rows;
}

// Whether `later` took the place of `before`, of the same rank, that had ended: an elastic restart.
// What a recorder saw of it must be worth an answer: a window that was closed in order.
bool TookThePlaceOf(const ProcessFile& later, const ProcessFile& before) {
  if (later.IsLoaderWorker() || !later.clock.has_anchor() || !before.clock.has_anchor()) {
    return false;
  }
  if (later.clock.first_ns() <= before.clock.last_ns()) return false;
  return std::any_of(later.marks.begin(), later.marks.end(), [](const Mark& mark) {
    return mark.kind == wire::MarkKind::kWindowClose && mark.text.empty();
  });
}

bool LeadsBefore(const ProcessFile& a, const ProcessFile& b) {
  if (TookThePlaceOf(a, b)) return true;
  return !TookThePlaceOf(b, a) && Busier(a, b);
}

bool SideBySide(const ProcessFile& a, const ProcessFile& b) {
  return a.clock.has_anchor() && b.clock.has_anchor() && a.clock.first_ns() < b.clock.last_ns() &&
         b.clock.first_ns() < a.clock.last_ns();
}

// By file: whether it is a rank of another job than the one that is answered for. Two jobs under
// one recorder have the same ranks at the same time, and a launcher each; the one that did more is
// answered for, because ranks of both together are no job at all.
std::vector<std::uint8_t> RanksOfOtherJobs(const std::vector<ProcessFile>& files,
                                           const std::vector<std::size_t>& parents) {
  std::vector<std::uint8_t> others(files.size(), 0);
  std::map<std::int64_t, std::vector<std::size_t>> by_rank;
  std::map<std::int64_t, std::uint64_t> work_of;  // by launcher
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].Number("rank") < 0 || files[i].IsLoaderWorker() || files[i].work() == 0) continue;
    by_rank[files[i].Number("rank")].push_back(i);
    work_of[files[i].Number("ppid")] += files[i].work();
  }
  const auto apart = [&](std::size_t a, std::size_t b) {
    const double less = static_cast<double>(std::min(files[a].work(), files[b].work()));
    const double more = static_cast<double>(std::max(files[a].work(), files[b].work()));
    return files[a].Number("ppid") != files[b].Number("ppid") && less >= kLike * more &&
           SideBySide(files[a], files[b]) && !IsAncestor(parents, a, b) &&
           !IsAncestor(parents, b, a);
  };
  std::set<std::int64_t> left_out;  // launchers
  for (const auto& [rank, same] : by_rank) {
    for (const std::size_t a : same) {
      for (const std::size_t b : same) {
        const std::int64_t of_a = files[a].Number("ppid"), of_b = files[b].Number("ppid");
        if (std::pair(work_of[of_a], -of_a) < std::pair(work_of[of_b], -of_b) && apart(a, b)) {
          left_out.insert(of_a);
        }
      }
    }
  }
  for (const auto& [rank, same] : by_rank) {
    for (const std::size_t i : same) others[i] = left_out.contains(files[i].Number("ppid")) ? 1 : 0;
  }
  return others;
}

std::vector<std::size_t> LeadersByRank(const std::vector<ProcessFile>& files,
                                       const std::vector<std::uint8_t>& others) {
  std::map<std::int64_t, std::size_t> leaders;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::int64_t rank = files[i].Number("rank");
    if (rank < 0 || others[i] != 0) continue;
    const auto [found, added] = leaders.try_emplace(rank, i);
    if (!added && LeadsBefore(files[i], files[found->second])) found->second = i;
  }
  std::vector<std::size_t> result;
  for (const auto& [rank, leader] : leaders) {
    if (files[leader].work() > 0) result.push_back(leader);
  }
  return result;
}

std::vector<std::size_t> LeadersByWork(const std::vector<ProcessFile>& files,
                                       const std::vector<std::size_t>& parents) {
  std::vector<std::size_t> order(files.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return Busier(files[a], files[b]); });
  const ProcessFile& busiest = files[order[0]];
  const auto alike = [&](const ProcessFile& file) {
    const std::uint64_t own = busiest.device_rows > 0 ? file.device_rows : file.host_rows;
    const std::uint64_t most = busiest.device_rows > 0 ? busiest.device_rows : busiest.host_rows;
    return own > 0 && static_cast<double>(own) >= kLike * static_cast<double>(most);
  };
  const bool by_host = busiest.device_rows == 0;
  std::vector<std::size_t> leaders;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k > 0 && (!alike(files[order[k]]) || files[order[k]].IsLoaderWorker())) continue;
    const std::size_t i = by_host ? Topmost(files, parents, order[k]) : order[k];
    if (std::find(leaders.begin(), leaders.end(), i) != leaders.end()) continue;
    const bool related = std::any_of(leaders.begin(), leaders.end(), [&](std::size_t leader) {
      return IsAncestor(parents, leader, i) || IsAncestor(parents, i, leader);
    });
    if (!related) leaders.push_back(i);
  }
  return leaders;
}

// What Python's multiprocessing starts has a command line of its own, "python -c from
// multiprocessing.spawn import …": the program is the one that started it.
bool IsSpawned(const ProcessFile& file) {
  return file.Text("cmdline").find("from multiprocessing.") != std::string_view::npos;
}

void NameSpawned(std::vector<ProcessFile>& files) {
  const std::vector<std::size_t> parents = Parents(files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::size_t above = i;
    for (std::size_t steps = 0; above != kNone && IsSpawned(files[above]); ++steps) {
      above = steps < files.size() ? parents[above] : kNone;
    }
    if (above == kNone || above == i || files[above].Text("cmdline").empty()) continue;
    files[i].info["cmdline"] = std::string(files[above].Text("cmdline"));
  }
}

}  // namespace

bool IsProcessFile(const std::string& name) {
  return name.starts_with(wire::kFilePrefix) && name.ends_with(wire::kFileSuffix);
}

std::vector<Job> FindJobs(const std::vector<ProcessFile>& files,
                          std::vector<std::size_t>* other_ranks) {
  std::vector<Job> jobs;
  if (files.empty()) return jobs;
  const std::vector<std::size_t> parents = Parents(files);
  const std::vector<std::uint8_t> others = RanksOfOtherJobs(files, parents);
  for (std::size_t i = 0; other_ranks != nullptr && i < files.size(); ++i) {
    if (others[i] != 0) other_ranks->push_back(i);
  }
  std::vector<std::size_t> leaders = LeadersByRank(files, others);
  if (leaders.empty()) leaders = LeadersByWork(files, parents);
  std::vector<std::size_t> job_of(files.size(), kNone);
  for (const std::size_t leader : leaders) {
    job_of[leader] = jobs.size();
    jobs.push_back({leader, {}});
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (job_of[i] != kNone || others[i] != 0) continue;
    // The nearest leader above it; where the chain is broken (an unrecorded process between), the
    // leader of its rank, or the only one there is.
    std::size_t above = parents[i];
    bool elsewhere = false;
    for (std::size_t steps = 0; above != kNone && job_of[above] == kNone; ++steps) {
      elsewhere = elsewhere || others[above] != 0;
      above = steps < files.size() ? parents[above] : kNone;
    }
    if (elsewhere) continue;
    std::size_t job = above == kNone ? kNone : job_of[above];
    const std::int64_t rank = files[i].Number("rank");
    const bool leads_there = std::any_of(leaders.begin(), leaders.end(), [&](std::size_t leader) {
      return IsAncestor(parents, i, leader);
    });
    if (job == kNone && !leads_there) {
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        if (rank >= 0 && files[jobs[j].leader].Number("rank") == rank) job = j;
      }
      if (job == kNone && jobs.size() == 1 && files[i].IsLoaderWorker()) job = 0;
    }
    if (job != kNone) jobs[job].members.push_back(i);
  }
  return jobs;
}

RunFolder ReadRunFolder(const std::string& folder) {
  RunFolder run;
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (!entry->is_regular_file(ignored)) continue;
    const std::string path = folder.empty() ? name : entry->path().string();
    if (IsProcessFile(name)) paths.push_back(path);
    if (name == wire::kMachineFile) run.machine = path;
  }
  // Shorter names first: the order of pids, and of execs within one.
  std::sort(paths.begin(), paths.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  for (const std::string& path : paths) {
    Result<ProcessFile> file = Survey({path});
    if (file) {
      run.files.push_back(std::move(*file));
    } else {
      run.unreadable.push_back(file.error().message());
    }
  }
  NameSpawned(run.files);
  run.jobs = FindJobs(run.files, &run.other_ranks);
  return run;
}

}  // namespace hone::importer::hone_file
