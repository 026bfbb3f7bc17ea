// SPDX-License-Identifier: Apache-2.0
// Where a verb's answer goes, and how it may look there.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "cli/verb.h"
#include "report/words/style.h"

namespace hone::cli {

struct AnswerOptions {
  std::string output;  // path; empty: the console
  std::string color = "auto";
};

// --output and --color.
void DeclareAnswer(CLI::App& app, AnswerOptions& options);

// Whether the file is one of those that reading `inputs`, files or folders, means: no verb writes
// over it. What cannot be found is none.
bool IsOneOf(const std::string& path, const std::vector<std::string>& inputs);

// Before anything is run or read: whether files can be written there, as far as can be told without
// touching them, and that none of them is a trace that is to be read: `inputs`, files or folders.
// Empty paths are passed over. Returns an ExitCode and says on console.err, in one sentence, which
// cannot.
int CheckOutputs(const std::vector<std::string>& paths, const std::vector<std::string>& inputs,
                 Console& console);

report::Style StyleFor(const AnswerOptions& options, const Console& console);

// Calls `write` with the file or the console's out. Its error is about the command line. Returns an
// ExitCode and says on console.err what went wrong.
int WriteAnswer(const AnswerOptions& options, Console& console,
                const std::function<Status(std::ostream&)>& write);

}  // namespace hone::cli
