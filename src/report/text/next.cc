// SPDX-License-Identifier: Apache-2.0
#include "report/text/next.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace hone::report {
namespace {

bool IsPlainWord(const std::string& text) {
  return !text.empty() && text[0] != '-' &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             "_-./+=:@%,") == std::string::npos;
}

// The table that says more about the largest part of the step.
std::pair<std::string, std::string> NextTable(const Known<Breakdown>& breakdown, bool python) {
  const std::pair<std::string, std::string> ops = {"--table ops", "every operator"};
  if (!breakdown || breakdown->rows.empty()) return ops;
  const BreakdownRow& largest =
      *std::max_element(breakdown->rows.begin(), breakdown->rows.end(),
                        [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  if (largest.tone == Tone::kCompute) return {"--table kernels", "every kernel"};
  if (largest.tone == Tone::kComm) return {"--table collectives", "every collective"};
  if (largest.tone == Tone::kCopy) return {"--table transfers", "every kind of copy"};
  if (!largest.cause) return ops;
  switch (*largest.cause) {
    case analyze::IdleCause::kSync:
    case analyze::IdleCause::kCopy: return {"--table syncs", "every call that makes the host wait"};
    case analyze::IdleCause::kCommunication: return {"--table collectives", "every collective"};
    case analyze::IdleCause::kLaunch:
      return {"--table ops --sort host_self", "what costs the host"};
    case analyze::IdleCause::kHostWork:
      if (python) return {"--table python", "where Python spends its time"};
      return {"--table ops --sort host_self", "what costs the host"};
    default: return {"--table idle", "every cause of idle time"};
  }
}

// Commands that go on from here, each with a remark.
std::vector<std::pair<std::string, std::string>> NextCommands(const Report& report,
                                                              const Known<Breakdown>& breakdown,
                                                              const std::string& trace) {
  std::vector<std::pair<std::string, std::string>> commands;
  const auto analyze = [&](const std::pair<std::string, std::string>& flags) {
    commands.emplace_back(fmt::format("hone analyze {} {}", trace, flags.first), flags.second);
  };
  if (report.diagnosis && report.diagnosis->replay && report.diagnosis->replay->together) {
    commands.emplace_back(fmt::format("hone whatif {} --list", trace),
                          "what else would give how much");
  } else {
    analyze(NextTable(breakdown, report.leading().facts.python.has_value()));
  }
  analyze({"--all", "everything, in full"});
  analyze({"--json", "for programs"});
  return commands;
}

}  // namespace

void WriteNext(const Report& report, const Known<Breakdown>& breakdown, const Style& style,
               std::ostream& out) {
  std::string path = ShownPath(report, report.leading());
  // A recording of ours is a folder; its files belong together.
  if (report.leading().trace.info.format == trace::Format::kHone) {
    const std::size_t slash = path.find_last_of('/');
    if (slash != std::string::npos && slash > 0) path.resize(slash);
  }
  const auto widest = [](const auto& commands) {
    std::size_t width = 0;
    for (const auto& command : commands) width = std::max(width, command.first.size());
    return width;
  };
  // Lines that can be pasted as they are; the remarks give way first.
  bool plain = IsPlainWord(path);
  // Of several, what was typed: their folder, or each of them.
  if (report.inputs.size() > 1 && !report.asked.empty()) {
    path.clear();
    for (const std::string& word : report.asked) path += (path.empty() ? "" : " ") + word;
    plain = std::all_of(report.asked.begin(), report.asked.end(), IsPlainWord);
  }
  auto commands = NextCommands(report, breakdown, path);
  if (!plain || 8 + widest(commands) > style.width) {
    commands = NextCommands(report, breakdown, "TRACE");
  }
  const std::size_t column = widest(commands) + 3;
  out << '\n';
  const char* label = "next  ";
  for (const auto& [command, what] : commands) {
    out << "  " << style.Paint(Tone::kFaint, label);
    if (8 + column + what.size() <= style.width) {
      out << PadRight(command, column) << style.Paint(Tone::kFaint, what) << '\n';
    } else {
      out << command << '\n';
    }
    label = "      ";
  }
}

}  // namespace hone::report
