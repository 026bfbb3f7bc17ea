// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace hone::report {

// For the content and the attributes of HTML and SVG: &, <, > and quotes; control characters are
// made visible.
std::string XmlText(std::string_view text);

}  // namespace hone::report
