// SPDX-License-Identifier: Apache-2.0
// The formats that `hone export` writes, one line each.
#pragma once

#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "export/exported.h"

namespace hone::exporter {

// One of the four functions is set; it says what the format writes to.
struct Format {
  std::string_view name;       // --to
  std::string_view extension;  // of the default file: trace.json.gz -> trace.EXTENSION
  std::string_view next;       // what to do with the file, as a clause: "open it at …"
  // One stream, which several ranks share.
  std::unique_ptr<Writer> (*open)(std::ostream& out) = nullptr;
  // One stream a rank.
  Status (*write)(const Exported& rank, std::ostream& out) = nullptr;
  // Makes a file or folder of its own for each rank. `path` names nothing yet, or (a folder) an
  // empty place; the caller puts it where the user wants it once it is complete.
  Status (*make)(const Exported& rank, const std::string& path) = nullptr;
  // Makes one file that several ranks share; `path` names nothing yet, as above.
  Result<std::unique_ptr<Writer>> (*create)(const std::string& path) = nullptr;
};

std::span<const Format> Formats();

}  // namespace hone::exporter
