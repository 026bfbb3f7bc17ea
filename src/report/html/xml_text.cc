// SPDX-License-Identifier: Apache-2.0
#include "report/html/xml_text.h"

#include "base/utf8.h"

namespace hone::report {

std::string XmlText(std::string_view text) {
  std::string out;
  for (const char c : Printable(text, true)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out.push_back(c);
    }
  }
  return out;
}

}  // namespace hone::report
