// SPDX-License-Identifier: Apache-2.0
// The report as one HTML file that needs nothing else: the page built in web/ with the data of the
// report put into it. What is in it: docs/design/page.md.
#pragma once

#include <ostream>
#include <string>

#include "base/result.h"
#include "report/report.h"

namespace hone::report {

struct PageOptions {
  std::string command;  // as the user typed it
};

// The leading input must have its rows. Linear in the trace, and a bounded number of replays.
Status WritePage(const Report& report, const PageOptions& options, std::ostream& out);

}  // namespace hone::report
