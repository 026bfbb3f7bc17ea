// SPDX-License-Identifier: Apache-2.0
// Where tests find data that is not part of the tree: $HONE_SHARED, else ../shared.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace hone::analyze {

#ifndef HONE_SOURCE_DIR
#define HONE_SOURCE_DIR "."
#endif

inline std::filesystem::path SharedPath(const std::string& name) {
  const char* root = std::getenv("HONE_SHARED");
  const std::filesystem::path base = root != nullptr
                                         ? std::filesystem::path(root)
                                         : std::filesystem::path(HONE_SOURCE_DIR) / ".." / "shared";
  return base / name;
}

}  // namespace hone::analyze

// Skips the test when the file is not here.
#define HONE_SHARED_FILE(variable, name)                                         \
  const std::filesystem::path variable = ::hone::analyze::SharedPath(name);      \
  if (!std::filesystem::exists(variable)) {                                      \
    GTEST_SKIP() << "no " << variable << "; set HONE_SHARED to the shared data"; \
  }
