// SPDX-License-Identifier: Apache-2.0
// Perfetto's own format: a stream of TracePackets (protobuf). docs/user/export.md.
#pragma once

#include <memory>
#include <ostream>

#include "export/exported.h"

namespace hone::exporter {

// `out` outlives the writer.
std::unique_ptr<Writer> OpenPerfetto(std::ostream& out);

}  // namespace hone::exporter
