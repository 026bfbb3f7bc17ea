// SPDX-License-Identifier: Apache-2.0
// hone view TRACE... [--port N] [--no-open]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/verb.h"

namespace hone::cli {

class ViewCommand : public Verb {
 public:
  const VerbInfo& info() const override;
  void Declare(CLI::App& app) override;
  int Run(Console& console) override;

 private:
  struct Page {
    std::string html;
    int code = 0;  // kExitUnreadable: parts of the input could not be read
  };
  // Empty html: nothing could be read, and console.err says why.
  Result<Page> MakePage(Console& console) const;

  std::vector<std::string> paths_;
  std::int64_t port_ = 0, rank_ = -1;
  bool no_open_ = false, quiet_ = false;
};

}  // namespace hone::cli
