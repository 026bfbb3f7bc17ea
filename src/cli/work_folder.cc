// SPDX-License-Identifier: Apache-2.0
#include "cli/work_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace hone::cli {

Result<WorkFolder> WorkFolder::Make(const std::string& name) {
  const char* base = std::getenv("TMPDIR");
  std::string path =
      fmt::format("{}/{}-XXXXXX", base != nullptr && *base != '\0' ? base : "/tmp", name);
  if (::mkdtemp(path.data()) == nullptr) {
    return Error(fmt::format("{}: cannot be made: {}; set TMPDIR", path, std::strerror(errno)));
  }
  return WorkFolder(path);
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  if (!path_.empty() && !kept_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace hone::cli
