// SPDX-License-Identifier: Apache-2.0
#include "record/control_group.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace hone::record {
namespace {

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool Lists(std::string_view list, std::string_view word) {
  const std::vector<std::string_view> words = Split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct Mount {
  std::string_view root, point, kind, options;
};

// "36 35 98:0 /root /point rw,noatime master:1 - kind source options"
std::optional<Mount> ParseMount(std::string_view line) {
  const std::size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> left = Split(line.substr(0, dash), ' ');
  const std::vector<std::string_view> right = Split(line.substr(dash + 3), ' ');
  if (left.size() < 5 || right.size() < 3) return std::nullopt;
  return Mount{left[3], left[4], right[0], right[2]};
}

// Where a group lies below a mount that may show only a part of the tree.
std::string Below(const Mount& mount, std::string_view group) {
  if (mount.root != "/" && group.substr(0, mount.root.size()) == mount.root) {
    group.remove_prefix(mount.root.size());
  }
  // "/../x": our group lies outside of what this namespace shows.
  if (group.find("..") != std::string_view::npos) group = "";
  std::string folder(mount.point);
  if (group != "/") folder += group;
  return folder;
}

// Calls for the folder and those around it, up to the mount.
void ForEachAround(const std::string& folder, const std::string& mount,
                   const std::function<void(const std::string&)>& call) {
  if (folder.empty()) return;
  for (std::string at = folder; at.size() >= mount.size() && !at.empty();
       at.resize(at.rfind('/') == std::string::npos ? 0 : at.rfind('/'))) {
    call(at);
    if (at == mount) break;
  }
}

// Beyond any real one: version 1 says "no limit" by a number near 2^63.
constexpr double kNoMemoryLimit = 1e18;

}  // namespace

GroupFolders FindGroups(std::string_view groups, std::string_view mounts) {
  std::string_view cpu_v1, memory_v1, v2;
  for (const std::string_view line : Split(groups, '\n')) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view kinds = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (kinds.empty()) v2 = path;
    if (Lists(kinds, "cpu")) cpu_v1 = path;
    if (Lists(kinds, "memory")) memory_v1 = path;
  }
  GroupFolders found;
  for (const std::string_view line : Split(mounts, '\n')) {
    const std::optional<Mount> mount = ParseMount(line);
    if (!mount) continue;
    const auto take = [&](std::string_view group, std::string& folder, std::string& top) {
      folder = Below(*mount, group);
      top = std::string(mount->point);
    };
    if (mount->kind == "cgroup2" && !v2.empty()) {
      // A controller that version 1 holds is not in version 2.
      if (cpu_v1.empty() && found.cpu.empty()) {
        take(v2, found.cpu, found.cpu_mount);
        found.cpu_v2 = true;
      }
      if (memory_v1.empty() && found.memory.empty()) {
        take(v2, found.memory, found.memory_mount);
        found.memory_v2 = true;
      }
    } else if (mount->kind == "cgroup") {
      if (!cpu_v1.empty() && Lists(mount->options, "cpu")) {
        take(cpu_v1, found.cpu, found.cpu_mount);
      }
      if (!memory_v1.empty() && Lists(mount->options, "memory")) {
        take(memory_v1, found.memory, found.memory_mount);
      }
    }
  }
  return found;
}

ControlGroup::ControlGroup()
    : ControlGroup(FindGroups(std::string(ReadOnce("/proc/self/cgroup")),
                              std::string(ReadOnce("/proc/self/mountinfo")))) {}

ControlGroup::ControlGroup(const GroupFolders& folders) {
  FindCpu(folders);
  FindMemory(folders);
  const bool own = folders.cpu_v2 && folders.cpu != folders.cpu_mount;
  if (own && ::access((folders.cpu + "/cpu.pressure").c_str(), R_OK) == 0) {
    pressure_folder_ = folders.cpu;
  }
}

void ControlGroup::FindCpu(const GroupFolders& folders) {
  cpu_v2_ = folders.cpu_v2;
  std::string with_limit = folders.cpu;
  ForEachAround(folders.cpu, folders.cpu_mount, [&](const std::string& folder) {
    std::optional<double> cores;
    if (cpu_v2_) {
      // "200000 100000" or "max 100000"
      const std::string text(ReadOnce((folder + "/cpu.max").c_str()));
      const auto quota = FirstNumber(text);
      const std::size_t blank = text.find(' ');
      const auto period = blank == std::string::npos
                              ? std::nullopt
                              : FirstNumber(std::string_view(text).substr(blank));
      if (quota && period && *period > 0) {
        cores = static_cast<double>(*quota) / static_cast<double>(*period);
      }
    } else {
      // -1: none
      const std::string quota(ReadOnce((folder + "/cpu.cfs_quota_us").c_str()));
      const auto period = FirstNumber(ReadOnce((folder + "/cpu.cfs_period_us").c_str()));
      const auto number = FirstNumber(quota);
      if (number && *number > 0 && quota[0] != '-' && period && *period > 0) {
        cores = static_cast<double>(*number) / static_cast<double>(*period);
      }
    }
    if (cores && (!core_limit_ || *cores < *core_limit_)) {
      core_limit_ = cores;
      with_limit = folder;
    }
  });
  if (!with_limit.empty()) cpu_stat_ = ProcFile(with_limit + "/cpu.stat");
}

void ControlGroup::FindMemory(const GroupFolders& folders) {
  const char* const limit = folders.memory_v2 ? "/memory.max" : "/memory.limit_in_bytes";
  const char* const now = folders.memory_v2 ? "/memory.current" : "/memory.usage_in_bytes";
  std::string with_limit = folders.memory;
  ForEachAround(folders.memory, folders.memory_mount, [&](const std::string& folder) {
    const auto bytes = FirstNumber(ReadOnce((folder + limit).c_str()));
    if (!bytes || static_cast<double>(*bytes) >= kNoMemoryLimit) return;
    if (!memory_limit_ || static_cast<double>(*bytes) < *memory_limit_) {
      memory_limit_ = static_cast<double>(*bytes);
      with_limit = folder;
    }
  });
  if (!with_limit.empty()) memory_now_ = ProcFile(with_limit + now);
}

std::optional<std::uint64_t> ControlGroup::ThrottledUsec() const {
  const std::string_view text = cpu_stat_.Read();
  if (const auto usec = FindNumber(text, "throttled_usec")) return usec;
  const auto nanos = FindNumber(text, "throttled_time");  // version 1
  return nanos ? std::optional(*nanos / 1000) : std::nullopt;
}

std::optional<std::uint64_t> ControlGroup::MemoryBytes() const {
  return FirstNumber(memory_now_.Read());
}

}  // namespace hone::record
