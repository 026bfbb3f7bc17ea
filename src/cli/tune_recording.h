// SPDX-License-Identifier: Apache-2.0
// The doctor leads: the program is recorded once, as it is, and what the findings promise says
// which treatments are tried first.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/tune_progress.h"
#include "tune/process_runner.h"

namespace hone::cli {

struct TuneDiagnosis {
  bool diagnosed = false;
  std::map<std::string, double> predicted;  // by rule: factor
  // With all of these rules cured, by the replay; none where it has no word for one of them.
  std::function<std::optional<double>(const std::set<std::string>&)> predict;
  std::vector<std::string> findings;  // ids, best first
  std::string note;                   // why there is no diagnosis, or how far to trust it

  // "the doctor expects most of input-bound (1.9x) and no-tensor-cores (1.4x)"
  std::string Summary() const;
};

// Runs the command under `hone run` into FOLDER/recording, or reads what is there already. A
// program that fails is no error here: the first trial says so better. The error: Ctrl-C, or the
// run cannot be started.
Result<TuneDiagnosis> RecordAndDiagnose(const tune::ProcessOptions& process,
                                        TuneProgress& progress);

}  // namespace hone::cli
