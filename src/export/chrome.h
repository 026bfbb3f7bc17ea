// SPDX-License-Identifier: Apache-2.0
// Chrome's trace-event JSON with the fields of the PyTorch profiler. docs/user/export.md.
#pragma once

#include <memory>
#include <ostream>

#include "export/exported.h"

namespace hone::exporter {

// `out` outlives the writer.
std::unique_ptr<Writer> OpenChrome(std::ostream& out);

}  // namespace hone::exporter
