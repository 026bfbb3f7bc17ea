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

// One of the three functions is set; it says what the format writes to.
struct Format {
  std::string_view name;       // --to
  std::string_view extension;  // of the default file: trace.json.gz -> trace.EXTENSION
  std::string_view next;       // what to do with the file, as a clause: "open it at …"
  // A stream that several ranks share.
  std::unique_ptr<Writer> (*open)(std::ostream& out) = nullptr;
  // A stream for each rank.
  Status (*write)(const Exported& rank, std::ostream& out) = nullptr;
  // A file or folder that several ranks share and that is no stream. `path` names nothing yet; the
  // caller moves it to where the user wants it once it is complete. Errors are without the path.
  Result<std::unique_ptr<Writer>> (*create)(const std::string& path) = nullptr;
};

std::span<const Format> Formats();

}  // namespace hone::exporter
