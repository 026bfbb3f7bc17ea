// SPDX-License-Identifier: Apache-2.0
#include "cli/whatif_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "doctor/replay_trust.h"
#include "replay/whatif.h"
#include "report/json/json_whatif.h"
#include "report/markdown/markdown_report.h"
#include "report/text/whatif_text.h"

namespace hone::cli {
namespace {

constexpr std::string_view kAll = "all";
// Every prediction is without the recorder already.
constexpr std::string_view kObserver = "observer-effect";

std::vector<std::string> Words() {
  std::vector<std::string> words = {std::string(kAll)};
  for (const replay::EditInfo& edit : replay::AllEdits()) words.emplace_back(edit.id);
  return words;
}

// Like OneOf, and with the whole list: nobody knows these words by heart.
CLI::Validator KnownFix() {
  const std::vector<std::string> words = Words();
  CLI::Validator validator(fmt::format("{{{}}}", fmt::join(words, ",")));
  validator.operation([words](std::string& value) -> std::string {
    if (std::find(words.begin(), words.end(), value) != words.end()) return {};
    const auto nearest = NearestSpelling(value, words);
    return fmt::format("no fix {}{}; one of {}", Printable(value, false),
                       nearest ? " (did you mean " + *nearest + "?)" : "", fmt::join(words, ", "));
  });
  return validator;
}

}  // namespace

const VerbInfo& WhatIfCommand::info() const {
  static const VerbInfo kInfo = {
      "whatif",
      "predict the step time with a problem fixed, before you fix it",
      "hone whatif TRACE... --fix FIX,... | --list [options]",
      "Replays the steady steps of a trace on a model of its threads, streams and waits, with the "
      "fixes you name, and says how long a step would take. --list says what can be asked of this "
      "trace. The replay of the unchanged step stands beside the measured one, so that you see "
      "how far to believe it.",
      {{"hone whatif trace.json.gz --list", "What could be fixed here, and what each would give."},
       {"hone whatif trace.json.gz --fix input-bound,host-sync",
        "Each alone, one after the other, and both together."},
       {"hone whatif trace.json.gz --fix all --json | jq .speedup",
        "Everything that applies, for a program."}},
      "Exit codes as for hone analyze. hone help findings and hone help FIX say more about each."};
  return kInfo;
}

void WhatIfCommand::Declare(CLI::App& app) {
  app.add_option("TRACE", paths_, "trace files, or a directory of ranks")
      ->option_text("TRACE")
      ->required();
  app.add_option("--fix", fixes_, "what to fix, several with commas between")
      ->option_text("FIX,...")
      ->expected(1)
      ->delimiter(',')
      ->allow_extra_args(false)  // the word after it may be a file
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(KnownFix())
      ->group("what to ask");
  app.add_flag("--list", list_, "what can be asked of this trace, and what each fix would give")
      ->group("what to ask");
  CLI::Option* json = app.add_flag("--json", json_, "the answer as JSON")->group("what to print");
  app.add_flag("--markdown", markdown_, "the answer as Markdown, for a pull request")
      ->excludes(json)
      ->group("what to print");
  app.add_option(
         "--rank", rank_,
         "the rank that is asked; without it the one that others wait for, else the slowest")
      ->option_text("N")
      ->check(WholeNumber())
      ->group("other");
  DeclareAnswer(app, answer_);
  app.add_flag("--quiet", quiet_, "no progress bar")->group("other");
  app.add_flag("--stable", stable_, "leave out folders, clock and version, for comparing output")
      ->group("other");
}

Status WhatIfCommand::Check() const {
  if (list_ && !fixes_.empty()) return Error("--list and --fix exclude each other; drop one");
  if (list_ || !fixes_.empty()) return Ok();
  return Error("nothing asked; --list says what can be fixed in this trace, --fix all fixes it");
}

Known<report::WhatIfAnswer> WhatIfCommand::Ask(const report::Report& report) const {
  const report::Input& input = report.leading();
  const auto model =
      replay::Model::Build(input.trace, input.facts, report.skew ? &*report.skew : nullptr);
  if (!model) return Known<report::WhatIfAnswer>::Absent(model.why_not());
  const replay::WhatIf whatif(**model);
  std::vector<std::string_view> ids;
  const auto add = [&](std::string_view id) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  };
  for (const std::string& word : fixes_) {
    if (word != kAll) add(word);
  }
  const bool all = std::find(fixes_.begin(), fixes_.end(), kAll) != fixes_.end();
  for (const replay::EditInfo& edit : replay::AllEdits()) {
    const bool meant = all && edit.id != kObserver && edit.in_all;
    if (list_ || (meant && whatif.Find(edit.id))) add(edit.id);
  }
  return report::AnswerWhatIf(whatif, ids);
}

int WhatIfCommand::Run(Console& console) {
  const Status checked = Check();
  if (!checked) {
    console.err << fmt::format("hone: {}\n", checked.error().message());
    return kExitUsage;
  }
  if (const int code = CheckOutputs({answer_.output}, paths_, console); code != kExitFine)
    return code;
  JobOptions options;
  options.paths = paths_;
  options.rank = rank_;
  options.stable = stable_;
  options.quiet = quiet_;
  options.diagnose = false;
  Result<JobResult> job = RunJob(options, console);
  if (!job) {
    console.err << fmt::format("hone: {}\n", job.error().message());
    return kExitUsage;
  }
  if (job->report.inputs.empty()) return job->code;
  report::Report& report = job->report;
  const Known<report::WhatIfAnswer> answer = Ask(report);
  if (answer) {
    doctor::DoubtReplay(answer->measured_ns, answer->replayed_ns,
                        report.inputs[report.lead].facts.trust);
  }
  const int written = WriteAnswer(answer_, console, [&](std::ostream& out) {
    const report::Style style = StyleFor(answer_, console);
    if (json_) {
      report::WriteWhatIfJson(job->report, answer, out);
    } else if (markdown_) {
      list_ ? report::WriteWhatIfListMarkdown(job->report, answer, out)
            : report::WriteWhatIfMarkdown(job->report, answer, out);
    } else if (list_) {
      report::WriteWhatIfList(job->report, answer, style, out);
    } else {
      report::WriteWhatIf(job->report, answer, style, out);
    }
    return Ok();
  });
  return written == kExitFine ? job->code : written;
}

}  // namespace hone::cli
