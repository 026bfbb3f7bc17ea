// SPDX-License-Identifier: Apache-2.0
// ControlGroup: the limits that a container or a service puts on us and on the program, which
// inherits our group. Version 2, version 1 and mixtures of both.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "record/proc_file.h"

namespace hone::record {

struct GroupFolders {
  std::string cpu, memory;  // of our own group; empty: not mounted
  std::string cpu_mount, memory_mount;
  bool cpu_v2 = false, memory_v2 = false;
};

// From the texts of /proc/self/cgroup and /proc/self/mountinfo.
GroupFolders FindGroups(std::string_view groups, std::string_view mounts);

class ControlGroup {
 public:
  ControlGroup();  // our own
  explicit ControlGroup(const GroupFolders& folders);

  // Cores that the quota allows, the least of the group and those around it; absent: no quota.
  std::optional<double> core_limit() const { return core_limit_; }
  std::optional<double> memory_limit() const { return memory_limit_; }

  // Since the group was made; where a quota holds, of the group that has it.
  std::optional<std::uint64_t> ThrottledUsec() const;
  std::optional<std::uint64_t> MemoryBytes() const;

  // Folder with cpu.pressure and its siblings; empty: use /proc/pressure.
  const std::string& pressure_folder() const { return pressure_folder_; }

 private:
  void FindCpu(const GroupFolders& folders);
  void FindMemory(const GroupFolders& folders);

  std::optional<double> core_limit_, memory_limit_;
  ProcFile cpu_stat_, memory_now_;
  bool cpu_v2_ = false;
  std::string pressure_folder_;
};

}  // namespace hone::record
