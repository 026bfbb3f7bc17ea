// SPDX-License-Identifier: Apache-2.0
// The door of every input: finds the traces behind a path, tells formats apart by content, loads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/trace.h"

namespace hone::importer {  // the folder is import/; `import` is a word of C++20 modules

struct ImportOptions {
  // Called from the loading thread now and then with bytes of input done and in all.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

// A file is itself; a directory stands for the trace files in it (not below), sorted by name. The
// folder of a run (hone run) stands for its ranks: the file of the process that leads each.
// The error says what is wrong with the path in one sentence. `left_out`, where given, gains a
// sentence about what lies in the directory and is no part of the answer.
Result<std::vector<std::string>> FindTraces(const std::string& path,
                                            std::vector<std::string>* left_out = nullptr);

// Loads one file of any format. An error means that there is no answer at all; damage that leaves
// something to read is a loss in the trace.
Result<trace::Trace> LoadTrace(const std::string& path, const ImportOptions& options = {});

// The formats. Content is sniffed by LoadTrace; call these only with a file of that format.
Result<trace::Trace> LoadKineto(const std::string& path, const ImportOptions& options = {});
Result<trace::Trace> LoadNsys(const std::string& path, const ImportOptions& options = {});
// A process file of a run's folder comes with what belongs to it there: its loader workers and
// other children, and the machine's counters.
Result<trace::Trace> LoadHone(const std::string& path, const ImportOptions& options = {});

// From memory, for fuzzing and tests.
// `window_bytes` is how much is read at a time (0: as for files); small ones reach the seams.
Result<trace::Trace> LoadKinetoText(std::string_view text, const std::string& name,
                                    std::size_t window_bytes = 0);
Result<trace::Trace> LoadNsysImage(std::string_view database, const std::string& name);
Result<trace::Trace> LoadHoneImage(std::string_view file, const std::string& name);

}  // namespace hone::importer
