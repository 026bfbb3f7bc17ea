// SPDX-License-Identifier: Apache-2.0
#include "cli/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/terminal.h"
#include "base/utf8.h"
#include "report/text/text_report.h"

namespace hone::cli {

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
