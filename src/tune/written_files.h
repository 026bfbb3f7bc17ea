// SPDX-License-Identifier: Apache-2.0
// WrittenFiles: which files of the folder a program was started in did it write? Every trial writes
// them again, and that may be a checkpoint somebody wants to keep.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hone::tune {

class WrittenFiles {
 public:
  // Looks at the folder as it is before the program runs. Not into `own`, which is the search's,
  // nor into what only tools write (.git, __pycache__, node_modules, virtual environments); links
  // are not followed.
  WrittenFiles(std::filesystem::path root, const std::string& own);

  // After a run: whether it wrote files and none had been seen so far.
  bool Look();
  // Relative to the folder, sorted.
  const std::vector<std::string>& files() const { return files_; }
  // One sentence; empty without files.
  std::string Note() const;

  // Of a folder with more, those nearest to its top are looked at: what a program writes seldom
  // lies among the thousands of files it reads.
  static constexpr std::size_t kMostEntries = 20'000;

 private:
  struct State {
    std::uint64_t inode = 0;
    std::int64_t bytes = 0, written_ns = 0, changed_ns = 0;
  };
  using Snapshot = std::unordered_map<std::string, State>;  // by path
  Snapshot Take() const;
  bool IsLeftOut(const std::filesystem::path& folder) const;

  std::filesystem::path root_, own_;
  // hone's own output may go into a file here.
  std::set<std::pair<std::uint64_t, std::uint64_t>> ours_;  // device, inode
  std::int64_t taken_ns_ = 0;
  Snapshot before_;
  std::vector<std::string> files_;
};

}  // namespace hone::tune
