// SPDX-License-Identifier: Apache-2.0
// What a file that is no PyTorch trace is instead, and what to type.
#pragma once

#include <string>
#include <string_view>

namespace hone::importer::kineto {

// One sentence without the path in front. `text` is the first window of the file, its compression
// undone; `whole`: the file ends with it.
std::string WhyNoTrace(std::string_view text, bool whole, const std::string& path);

}  // namespace hone::importer::kineto
