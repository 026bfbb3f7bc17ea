// SPDX-License-Identifier: Apache-2.0
#include "export/formats.h"

#include "export/chrome.h"
#include "export/csv.h"
#include "export/perfetto.h"
#include "export/speedscope.h"
#include "export/sqlite_export.h"

namespace hone::exporter {

std::span<const Format> Formats() {
  static const Format kFormats[] = {
      {.name = "perfetto",
       .extension = "perfetto-trace",
       .next = "open it at https://ui.perfetto.dev",
       .open = OpenPerfetto},
      {.name = "chrome",
       .extension = "chrome.json.gz",
       .next = "open it at https://ui.perfetto.dev or chrome://tracing",
       .open = OpenChrome},
      {.name = "sqlite",
       .extension = "sqlite",
       .next = "hone help sql lists the tables",
       .create = CreateSqlite},
      {.name = "csv",
       .extension = "tables",
       .next = "hone help sql lists the tables and columns",
       .create = CreateCsvFolder},
      {.name = "speedscope",
       .extension = "speedscope.json",
       .next = "open it at https://www.speedscope.app",
       .write = WriteSpeedscope},
  };
  return kFormats;
}

}  // namespace hone::exporter
