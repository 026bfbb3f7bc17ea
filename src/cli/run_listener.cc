// SPDX-License-Identifier: Apache-2.0
#include "cli/run_listener.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>

#include "base/terminal.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/job.h"
#include "record/control.h"
#include "record/launch.h"
#include "report/html/page.h"
#include "report/json/json_report.h"
#include "report/text/text_report.h"
#include "report/words/headline.h"

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

// Below the program's own priority: it is the one that is to run.
constexpr int kNiceWhileRunning = 19;
// With so many cores idle the answer takes none but those (SCHED_IDLE). A team of threads that
// meets after every operator waits for the one whose core the answer has, also at nice 19: single
// steps of a ResNet-50 on 16 cores took 0.6 and 1.0 s instead of 0.13, and not one over 0.22 this
// way. Where no core is ever idle it would starve, and there is no way back without privileges.
constexpr double kRoomForIdle = 0.5;
// Below it the next chunk of a recording may not fit.
constexpr std::uintmax_t kRoom = 256 << 10;

// The program is the one that is to run, and the last one that the system should kill.
void StepBack(double idle_cores) {
  ::setpriority(PRIO_PROCESS, 0, kNiceWhileRunning);
  const sched_param none{};
  if (idle_cores >= kRoomForIdle) ::sched_setscheduler(0, SCHED_IDLE, &none);
  std::ofstream("/proc/self/oom_score_adj") << 1000;
}

// "hone-train-…" for a folder inside the current one.
std::string Shown(const std::string& folder) {
  std::error_code error;
  const fs::path relative = fs::path(folder).lexically_relative(fs::current_path(error));
  const bool inside = !error && !relative.empty() && relative.begin()->string() != "..";
  return inside && relative != "." ? relative.string() : folder;
}

// Between the two processes: what was said here need not be said of the next window.
constexpr int kExitNotKept = 100;

// Written beside and renamed: a reader never sees half of it. 0, or errno.
int WriteFile(const std::string& path, const std::function<Status(std::ostream&)>& write) {
  const std::string beside = path + ".part";
  errno = 0;
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  bool written = file.is_open() && write(file).has_value();
  if (written) file.close();
  written = written && file && ::rename(beside.c_str(), path.c_str()) == 0;
  if (written) return 0;
  const int why = errno;
  std::error_code ignored;
  fs::remove(beside, ignored);
  return why == 0 ? EIO : why;
}

// Neither operators nor device work nor steps: a screen of what is missing would help nobody.
bool HasLittleToTell(const report::Report& report) {
  const analyze::Facts& facts = report.leading().facts;
  return !facts.timeline && !facts.ops && facts.steps.source == analyze::StepSource::kNone;
}

const char* SignalName(int number) {
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? "?" : name;
}

}  // namespace

RunListener::RunListener(const RunPlan& plan, record::MachineSampler* sampler, Console& console)
    : plan_(plan),
      sampler_(sampler),
      console_(console),
      shown_folder_(Shown(plan.folder)),
      line_(console.err, !plan.quiet && IsTerminal(console.err_fd), console.err_fd) {
  if (plan.quiet) return;
  for (const auto& [name, why] : plan.notes) Say(fmt::format("{} {}", name, why));
}

void RunListener::Say(std::string_view message) {
  line_.Erase();
  console_.err << fmt::format("hone: {}\n", Printable(message, LocaleIsUtf8())) << std::flush;
}

void RunListener::Recording(const record::RecordingStatus& status,
                            const std::vector<record::SlotView>& slots) {
  if (sampler_ != nullptr) sampler_->Sample(plan_.pid, slots);
  if (status.processes == 0) return;
  if (!status.stepping) {
    line_.Show("hone: recording");
  } else if (plan_.all) {
    line_.Show(fmt::format("hone: step {}", status.steps));
  } else {
    line_.Show(fmt::format("hone: recording step {} of {}", std::min(status.steps, plan_.steps),
                           plan_.steps));
  }
}

// Only a number that was asked for: how many there are, the answer says, which looks for the end of
// warm-up itself. Two counts on one screen are one too many.
std::string RunListener::StepsText(const record::Closing& closing) const {
  if (closing.steps == 0) return "";
  if (!plan_.exactly || plan_.all) return "the steps after warm-up, of ";
  return Count(std::min(closing.steps, plan_.steps), "step") + " after warm-up, of ";
}

void RunListener::Closed(const record::Closing& closing) {
  line_.Erase();
  if (sampler_ != nullptr) sampler_->Flush();
  if (plan_.quiet) return;
  const bool runs_on = !closing.program_ended && (closing.full || closing.awaits_step);
  // A progress bar of the program may stand there, without an end of its line.
  if (runs_on) console_.err << '\n';
  if (!closing.program_ended && closing.full) {
    Say(fmt::format("recorded {}{}; the program runs on", StepsText(closing),
                    Count(closing.processes, "process", "processes")));
  }
  if (closing.awaits_step) {
    Say(fmt::format(
        "recorded {}, which made no step of an optimizer and called no hone.step(); the "
        "program runs on, and is recorded again if it does; so far: hone analyze {}",
        Count(closing.processes, "process", "processes"), shown_folder_));
  }
  if (plan_.analyze) return;
  SayWhatEndedIt(closing);
  if (closing.program_ended && record::LookInto(plan_.folder).files == 0) {
    Say(WhyNothing(closing));
  } else {
    Say(fmt::format("to read it: hone analyze {}", shown_folder_));
  }
}

std::string RunListener::WhyNothing(const record::Closing& closing) const {
  const std::string closed = record::WhyClosed(plan_.program);
  if (!closed.empty()) return fmt::format("nothing was recorded: {}", closed);
  if (record::LookInto(plan_.folder).files == 0) {
    return fmt::format(
        "nothing was recorded: neither {} nor what it started used PyTorch, CUDA or NVTX; if they "
        "did, their environment was cleared on the way (env -i, sudo, a container), or they ran as "
        "a user who may not write into {} (setpriv): start hone run inside of that",
        plan_.program, shown_folder_);
  }
  return fmt::format(
      "nothing to tell: {} {} recorded, without an operator, a kernel or a mark; hone help run "
      "says "
      "what hone looks at",
      Count(closing.processes, "process", "processes"), closing.processes == 1 ? "was" : "were");
}

std::string RunListener::Summary(const report::Report& report,
                                 const record::Closing& closing) const {
  std::ostringstream out;
  report::Style style = StyleFor(plan_.answer, {out, out, -1, -1});
  style.width = 1000;
  report::WriteKeyNumbers(report, style, out);
  const std::string text = out.str();
  const std::size_t start = text.find_first_not_of(' '), end = text.find_last_not_of('\n');
  return fmt::format("window {}: {}", closing.window,
                     start == std::string::npos ? "" : text.substr(start, end + 1 - start));
}

int RunListener::Answer(const report::Report& report, const record::Closing& closing) {
  report::Style plain;
  int code = kExitFine;
  std::string files;
  std::vector<std::string> missing;
  int why = 0;
  const auto keep = [&](const char* name, const std::function<Status(std::ostream&)>& write) {
    const int error = WriteFile(plan_.folder + "/" + name, write);
    if (error == 0) {
      files += std::string(name) + ", ";
      return;
    }
    missing.emplace_back(name);
    why = error;
    code = kExitNotKept;
  };
  keep("report.json", [&](std::ostream& out) { return report::WriteJson(report, {}, out); });
  keep("report.txt", [&](std::ostream& out) {
    report::WriteText(report, {plain, true}, out);
    return Ok();
  });
  keep("report.html", [&](std::ostream& out) {
    return report::WritePage(report, {"hone analyze " + shown_folder_}, out);
  });
  if (!missing.empty() && !said_not_kept_) {
    Say(fmt::format("{} cannot be written into {}: {}; {}", fmt::join(missing, " and "),
                    shown_folder_, std::strerror(why),
                    why == EFBIG
                        ? "raise the limit of the size of files (ulimit -f)"
                        : "the recording is kept; to read it: hone analyze " + shown_folder_));
  }
  if (plan_.quiet) return code;
  if (closing.awaits_step) return code;
  if (!closing.full) {
    Say(Summary(report, closing));
    return code;
  }
  if (HasLittleToTell(report)) {
    const bool python = report.leading().facts.python.has_value();
    Say(fmt::format("{} used neither PyTorch nor CUDA and marked no steps; {}", plan_.program,
                    python
                        ? fmt::format("where Python spent its time: hone analyze {} --table python",
                                      shown_folder_)
                        : "hone help run says what hone looks at"));
    return code;
  }
  std::ostringstream answer;
  if (!closing.program_ended) answer << '\n';  // as in Closed
  // As for stdout, but where stderr goes.
  const Console there{answer, answer, console_.err_fd, console_.err_fd};
  report::WriteText(report, {StyleFor(plan_.answer, there)}, answer);
  const record::Recorded kept = record::LookInto(plan_.folder);
  answer << fmt::format("\nhone: wrote {}/ ({}recording {})\n",
                        Printable(shown_folder_, LocaleIsUtf8()), files,
                        HumanBytes(static_cast<double>(kept.bytes)));
  console_.err << answer.str() << std::flush;
  return code;
}

int RunListener::Analyze(const record::Closing& closing) {
  // A door: what leaves here would unwind into a second copy of the launcher.
  try {
    return AnalyzeFolder(closing);
  } catch (const std::bad_alloc&) {
    Say(fmt::format("the analysis ran out of memory; on a larger machine: hone analyze {}",
                    shown_folder_));
  } catch (const std::exception& error) {
    Say(fmt::format("internal error: {}; please report it", error.what()));
  } catch (...) {
    Say("internal error; please report it");
  }
  return kExitFailed;
}

// The recorder stops where it cannot write, and the program goes on: nobody else would say it.
void RunListener::SayWhatEndedIt(const record::Closing& closing) {
  std::error_code error;
  if (!fs::exists(plan_.folder, error) && !error) {
    Say(
        fmt::format("{} was removed while the program ran, and the recording with it; name a place "
                    "that stays by --out",
                    shown_folder_));
    return;
  }
  const fs::space_info space = fs::space(plan_.folder, error);
  if (!error && space.available < kRoom) {
    Say(fmt::format(
        "the disk of {} is full ({} left): the recording was cut short there; free some "
        "room, or name another place by --out",
        shown_folder_, HumanBytes(static_cast<double>(space.available))));
  } else if (closing.file_error == EFBIG) {
    Say("a recording was cut short where its file reached the limit of the size of files; raise it "
        "(ulimit -f)");
  } else if (closing.file_error == EBADF) {
    Say("a recording was cut short where the program closed its file, with descriptors that it did "
        "not open; close only those that it did");
  } else if (closing.file_error != 0) {
    Say(
        fmt::format("a process could not write its recording into {}: {}; name a place by --out "
                    "where all that the program starts may write",
                    shown_folder_, std::strerror(closing.file_error)));
  }
}

int RunListener::AnalyzeFolder(const record::Closing& closing) {
  SayWhatEndedIt(closing);
  if (!closing.program_ended) StepBack(sampler_ != nullptr ? sampler_->IdleCores() : 0);
  std::error_code error;
  if (!fs::exists(plan_.folder, error)) return kExitFine;
  if (record::LookInto(plan_.folder).files == 0) {
    if (!plan_.quiet) Say(WhyNothing(closing));
    return kExitFine;
  }
  JobOptions options;
  options.paths = {shown_folder_};
  // A bar would run through the program's own lines.
  options.quiet = plan_.quiet || !closing.program_ended;
  Result<JobResult> job = RunJob(options, console_);
  if (!job) {
    Say(job.error().message());
    return kExitFailed;
  }
  if (job->report.inputs.empty()) {
    if (!plan_.quiet) Say(WhyNothing(closing));
    return kExitFine;
  }
  return Answer(job->report, closing);
}

void RunListener::Analyzed(const record::Closing& closing, int status, bool aborted) {
  const std::string later =
      fmt::format("the recording is kept; to read it: hone analyze {}", shown_folder_);
  if (aborted) {
    Say("analysis stopped; " + later);
  } else if (WIFSIGNALED(status)) {
    const bool memory = WTERMSIG(status) == SIGKILL;
    Say(fmt::format("the analysis was killed by SIG{}{}; {}", SignalName(WTERMSIG(status)),
                    memory ? " (out of memory?)" : "", later));
  } else {
    said_not_kept_ = said_not_kept_ || WEXITSTATUS(status) == kExitNotKept;
  }
  static_cast<void>(closing);
}

void RunListener::CannotAnalyze(int error) {
  Say(fmt::format("the analysis cannot be started: {}; later: hone analyze {}",
                  std::strerror(error), shown_folder_));
}

void RunListener::ProgramEnded(int status) {
  line_.Erase();
  if (sampler_ != nullptr) {
    sampler_->Finish({{"exit_code", fmt::to_string(record::ExitCodeOf(status))}});
  }
  if (plan_.quiet || !WIFSIGNALED(status)) return;
  Say(fmt::format("the program was killed by SIG{}", SignalName(WTERMSIG(status))));
}

}  // namespace hone::cli
