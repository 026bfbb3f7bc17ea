// SPDX-License-Identifier: Apache-2.0
// RunListener: what the user of `hone run` is told, and when. Everything goes to stderr, each
// message in one write, because the program writes there too.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/answer.h"
#include "cli/console.h"
#include "cli/status_line.h"
#include "record/machine_sampler.h"
#include "record/session.h"
#include "report/report.h"

namespace hone::cli {

struct RunPlan {
  std::string program;  // path of what was started
  std::uint32_t pid = 0;
  std::string folder;  // absolute
  std::uint32_t steps = 0;
  bool exactly = false;  // as many steps, however short they are
  bool every = false, all = false, quiet = false, analyze = true;
  std::vector<std::pair<std::string, std::string>> notes;  // what stood in the way of recording
  AnswerOptions answer;
};

class RunListener : public record::SessionListener {
 public:
  // `sampler` may be null.
  RunListener(const RunPlan& plan, record::MachineSampler* sampler, Console& console);

  void Recording(const record::RecordingStatus& status,
                 const std::vector<record::SlotView>& slots) override;
  void Closed(const record::Closing& closing) override;
  int Analyze(const record::Closing& closing) override;
  void Analyzed(const record::Closing& closing, int status, bool aborted) override;
  void CannotAnalyze(int error) override;
  void ProgramEnded(int status) override;

 private:
  void Say(std::string_view message);
  std::string StepsText(const record::Closing& closing) const;
  int AnalyzeFolder(const record::Closing& closing);
  // What ended the recording of a process before its time, if anything did.
  void SayWhatEndedIt(const record::Closing& closing);
  int Answer(const report::Report& report, const record::Closing& closing);
  std::string Summary(const report::Report& report, const record::Closing& closing) const;
  // Why there is nothing to answer from; one sentence.
  std::string WhyNothing(const record::Closing& closing) const;

  const RunPlan& plan_;
  record::MachineSampler* const sampler_;
  Console& console_;
  const std::string shown_folder_;  // as the user would type it
  StatusLine line_;
  bool said_not_kept_ = false;  // that reports of an earlier answer could not be written
};

}  // namespace hone::cli
