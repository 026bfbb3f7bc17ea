// SPDX-License-Identifier: Apache-2.0
#include "cli/answer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/terminal.h"
#include "base/utf8.h"
#include "import/import.h"
#include "report/text/text_report.h"

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

// Empty: nothing speaks against it.
std::string WhyNotWritable(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return "it is a folder; name a file";
  if (fs::exists(status)) return ::access(path.c_str(), W_OK) == 0 ? "" : std::strerror(errno);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (!fs::exists(folder, error)) {
    return fmt::format("there is no folder {}; make it first, or name another place",
                       folder.string());
  }
  return ::access(folder.c_str(), W_OK | X_OK) == 0 ? "" : std::strerror(errno);
}

}  // namespace

bool IsOneOf(const std::string& path, const std::vector<std::string>& inputs) {
  std::error_code ignored;
  for (const std::string& input : inputs) {
    const Result<std::vector<std::string>> traces = importer::FindTraces(input);
    if (!traces) continue;
    for (const std::string& trace : *traces) {
      if (fs::equivalent(path, trace, ignored)) return true;
    }
  }
  return false;
}

int CheckOutputs(const std::vector<std::string>& paths, const std::vector<std::string>& inputs,
                 Console& console) {
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    std::string why = WhyNotWritable(path);
    if (why.empty() && IsOneOf(path, inputs)) why = "it is the trace itself; name another file";
    if (why.empty()) continue;
    console.err << fmt::format("hone: {}\n",
                               Printable(path + ": cannot be written: " + why, LocaleIsUtf8()));
    return kExitFailed;
  }
  return kExitFine;
}

void DeclareAnswer(CLI::App& app, AnswerOptions& options) {
  app.add_option("-o,--output", options.output, "write the answer to a file")
      ->option_text("FILE")
      ->group("other");
  app.add_option("--color", options.color, "colours; auto: on a terminal, unless NO_COLOR is set")
      ->option_text("WHEN")
      ->default_str("auto")
      ->check(OneOf({"auto", "always", "never"}))
      ->group("other");
}

report::Style StyleFor(const AnswerOptions& options, const Console& console) {
  const int fd = options.output.empty() ? console.out_fd : -1;
  const ColorChoice choice = options.color == "always"  ? ColorChoice::kAlways
                             : options.color == "never" ? ColorChoice::kNever
                                                        : ColorChoice::kAuto;
  report::Style style;
  const std::size_t columns = TerminalWidth(fd);
  // Up to 110 columns: beyond that the eye loses the line.
  style.width = columns == 0 ? 80 : std::clamp<std::size_t>(columns, report::kLeastWidth, 110);
  style.color = WantsColor(choice, fd);
  style.utf8 = LocaleIsUtf8();
  return style;
}

int WriteAnswer(const AnswerOptions& options, Console& console,
                const std::function<Status(std::ostream&)>& write) {
  const bool utf8 = LocaleIsUtf8();
  std::ofstream file;
  const auto failed = [&](const char* how) {
    console.err << fmt::format("hone: {}: cannot be written{}: {}\n",
                               Printable(options.output, utf8), how, std::strerror(errno));
    return kExitFailed;
  };
  if (!options.output.empty()) {
    file.open(options.output, std::ios::binary | std::ios::trunc);
    if (!file) return failed("");
  }
  const Status written = write(options.output.empty() ? console.out : file);
  if (!written) {
    console.err << fmt::format("hone: {}\n", Printable(written.error().message(), utf8));
    return kExitUsage;
  }
  if (!options.output.empty()) {
    file.close();
    if (!file) return failed(" in full");
  }
  return kExitFine;
}

}  // namespace hone::cli
