// SPDX-License-Identifier: Apache-2.0
// Installation: the files that `hone run` brings into the program, found from where hone itself
// lies. Three layouts hold the same folder lib/hone: the build tree (build/hone, build/lib/hone), a
// prefix (bin/hone, lib/hone) and the tarball (hone beside lib/hone).
#pragma once

#include <string>

#include "base/result.h"

namespace hone::record {

struct Installation {
  std::string library;  // libhone_collect.so
  std::string inject;   // folder with the sitecustomize that Python runs first; empty: not there
};

// Absolute paths. The error names the file that is missing and where it was looked for.
Result<Installation> FindInstallation();
Result<Installation> FindInstallationBeside(const std::string& program);

}  // namespace hone::record
