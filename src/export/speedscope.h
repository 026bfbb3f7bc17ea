// SPDX-License-Identifier: Apache-2.0
// speedscope's file format: flame graphs of threads and streams. docs/user/export.md.
#pragma once

#include <ostream>

#include "export/exported.h"

namespace hone::exporter {

Status WriteSpeedscope(const Exported& rank, std::ostream& out);

}  // namespace hone::exporter
