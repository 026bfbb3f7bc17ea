// SPDX-License-Identifier: Apache-2.0
#include "tune/written_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <deque>

#include "base/text.h"

namespace hone::tune {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamed = 3;

std::int64_t Nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// By the clock that stamps files, which runs a few milliseconds behind the other.
std::int64_t FileClock() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return Nanoseconds(now);
}

}  // namespace

WrittenFiles::WrittenFiles(fs::path root, const std::string& own) : root_(std::move(root)) {
  std::error_code ignored;
  own_ = fs::weakly_canonical(own, ignored);
  if (!own_.has_filename()) own_ = own_.parent_path();  // "t/"
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat status {};
    if (::fstat(fd, &status) == 0) ours_.emplace(status.st_dev, status.st_ino);
  }
  taken_ns_ = FileClock();
  before_ = Take();
}

bool WrittenFiles::IsLeftOut(const fs::path& folder) const {
  const std::string name = folder.filename().string();
  if (name == ".git" || name == "__pycache__" || name == "node_modules") return true;
  std::error_code ignored;
  return fs::exists(folder / "pyvenv.cfg", ignored) ||
         fs::weakly_canonical(folder, ignored) == own_;
}

WrittenFiles::Snapshot WrittenFiles::Take() const {
  Snapshot files;
  std::size_t entries = 0;
  std::deque<fs::path> folders = {root_};  // nearest first
  for (; !folders.empty() && entries < kMostEntries; folders.pop_front()) {
    std::error_code error;
    for (fs::directory_iterator entry(folders.front(), error), end;
         !error && entry != end && entries < kMostEntries; entry.increment(error)) {
      ++entries;
      struct stat status {};
      if (::lstat(entry->path().c_str(), &status) != 0) continue;
      if (S_ISDIR(status.st_mode) && !IsLeftOut(entry->path())) folders.push_back(entry->path());
      if (!S_ISREG(status.st_mode) || ours_.contains({status.st_dev, status.st_ino})) continue;
      files[entry->path().string()] = {status.st_ino, status.st_size, Nanoseconds(status.st_mtim),
                                       Nanoseconds(status.st_ctim)};
    }
  }
  return files;
}

bool WrittenFiles::Look() {
  if (!files_.empty()) return false;
  for (const auto& [path, now] : Take()) {
    const auto known = before_.find(path);
    // In a folder with too many entries a file that is new here need not be new.
    const bool written = known == before_.end() ? now.changed_ns >= taken_ns_
                                                : now.inode != known->second.inode ||
                                                      now.bytes != known->second.bytes ||
                                                      now.written_ns != known->second.written_ns;
    if (written) files_.push_back(fs::path(path).lexically_relative(root_).string());
  }
  std::sort(files_.begin(), files_.end());
  return !files_.empty();
}

std::string WrittenFiles::Note() const {
  if (files_.empty()) return "";
  const std::size_t named = std::min(files_.size(), kMostNamed);
  std::string names =
      fmt::format("{}", fmt::join(files_.begin(), files_.begin() + static_cast<long>(named), ", "));
  if (files_.size() > named) {
    names += " and " + Count(files_.size() - named, "more file", "more files");
  }
  return fmt::format(
      "the program wrote {} into the folder it runs in, and every trial does so again; run it in a "
      "copy of the folder, or give the program another output folder",
      names);
}

}  // namespace hone::tune
