// SPDX-License-Identifier: Apache-2.0
#include "record/installation.h"

#include <fmt/format.h>

#include <filesystem>

namespace hone::record {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libhone_collect.so";

}  // namespace

Result<Installation> FindInstallationBeside(const std::string& program) {
  const fs::path folder = fs::path(program).parent_path();
  std::error_code error;
  for (const fs::path& base : {folder, folder.parent_path()}) {
    const fs::path home = base / "lib" / "hone";
    if (!fs::is_regular_file(home / kLibrary, error)) continue;
    Installation found;
    found.library = (home / kLibrary).string();
    const fs::path inject = home / "python" / "inject";
    if (fs::is_regular_file(inject / "sitecustomize.py", error)) found.inject = inject.string();
    return found;
  }
  return Error(fmt::format(
      "{} is missing: neither {} nor {} has it; keep hone and its lib/hone together, or "
      "install hone again",
      kLibrary, (folder / "lib/hone").string(), (folder.parent_path() / "lib/hone").string()));
}

Result<Installation> FindInstallation() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    return Error(fmt::format("cannot tell where hone lies: /proc/self/exe: {}; is /proc mounted?",
                             error.message()));
  }
  return FindInstallationBeside(program.string());
}

}  // namespace hone::record
