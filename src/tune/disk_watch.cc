// SPDX-License-Identifier: Apache-2.0
#include "tune/disk_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/text.h"

namespace hone::tune {
namespace {

namespace fs = std::filesystem;

// A trial's own files take about as much; with less, nothing that matters can be written.
constexpr std::size_t kLeastBytes = 64 << 10;

std::string FreeOn(const std::string& folder) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return "";
  return fmt::format(" ({} free)", HumanBytes(static_cast<double>(disk.f_bavail) *
                                              static_cast<double>(disk.f_frsize)));
}

bool HasNoRoom(const std::string& folder) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return false;
  if ((disk.f_flag & ST_RDONLY) != 0 || disk.f_blocks == 0) return false;
  return disk.f_bavail * disk.f_frsize < kLeastBytes || (disk.f_files > 0 && disk.f_favail == 0);
}

bool CannotTake(const std::string& folder) {
  const std::string path = folder + "/.room";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return errno == ENOSPC || errno == EDQUOT;
  const std::string block(kLeastBytes, 'x');
  const ssize_t written = ::write(fd, block.data(), block.size());
  bool full = written < 0 ? errno == ENOSPC || errno == EDQUOT
                          : static_cast<std::size_t>(written) < block.size();
  // A file system may take what it has no place for, and say so only here.
  if (!full && ::fsync(fd) != 0) full = errno == ENOSPC || errno == EDQUOT;
  ::close(fd);
  ::unlink(path.c_str());
  return full;
}

}  // namespace

DiskWatch::DiskWatch(std::string folder, std::vector<std::string> command)
    : folder_(std::move(folder)), command_(std::move(command)) {
  std::error_code error;
  for (const fs::path& other : {fs::current_path(error), fs::temp_directory_path(error)}) {
    if (!other.empty() && !HasNoRoom(other.string())) others_.push_back(other.string());
  }
}

Error DiskWatch::Blame(const std::string& what) {
  found_ = Error(
      fmt::format("{}; every trial before this is kept in {}/tune.jsonl: make room, then go on "
                  "with hone tune --resume {} -- {}",
                  what, folder_, ShellCommand({folder_}), ShellCommand(command_)));
  return *found_;
}

std::optional<Error> DiskWatch::Look() {
  const std::string* full = CannotTake(folder_) ? &folder_ : nullptr;
  for (const std::string& other : others_) {
    if (full == nullptr && HasNoRoom(other)) full = &other;
  }
  if (full == nullptr) return std::nullopt;
  return Blame(fmt::format("the disk of {} is full{}", *full, FreeOn(*full)));
}

}  // namespace hone::tune
