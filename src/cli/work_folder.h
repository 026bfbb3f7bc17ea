// SPDX-License-Identifier: Apache-2.0
// WorkFolder: a fresh folder in TMPDIR for what programs print; gone with the object unless kept.
#pragma once

#include <string>

#include "base/result.h"

namespace hone::cli {

class WorkFolder {
 public:
  // "hone-bench-XXXXXX"
  static Result<WorkFolder> Make(const std::string& name);
  WorkFolder(WorkFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder();

  const std::string& path() const { return path_; }
  void Keep() { kept_ = true; }

 private:
  explicit WorkFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
  bool kept_ = false;
};

}  // namespace hone::cli
