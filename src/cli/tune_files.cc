// SPDX-License-Identifier: Apache-2.0
#include "cli/tune_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <sstream>
#include <utility>

#include "base/json_writer.h"
#include "cli/output_file.h"
#include "report/tune/tune_report.h"
#include "report/version.h"

namespace hone::cli {
namespace {

Status WriteFile(const std::string& path, const std::function<void(std::ostream&)>& write) {
  std::ostringstream nowhere;
  Console console{nowhere, nowhere};
  Result<std::unique_ptr<OutputFile>> file = OutputFile::Open(path, false, console);
  if (!file) return Error(file.error());
  write((*file)->stream());
  const Result<std::uint64_t> bytes = (*file)->Commit();
  if (!bytes) return Error(bytes.error());
  return Ok();
}

}  // namespace

std::string RecipeJson(const tune::TuneResult& result) {
  std::string recipe;
  for (const tune::Choice& choice : result.winner) {
    recipe +=
        fmt::format("{}    {{\"treatment\": {}, \"options\": {}}}", recipe.empty() ? "\n" : ",\n",
                    JsonQuoted(choice.treatment), choice.options);
  }
  std::string command;
  for (const std::string& word : result.command) {
    command += (command.empty() ? "" : ", ") + JsonQuoted(word);
  }
  return fmt::format(
      "{{\n  \"version\": 1,\n  \"made_by\": {},\n  \"command\": [{}],\n  \"recipe\": [{}\n  "
      "]\n}}\n",
      JsonQuoted(fmt::format("hone {}", report::Version())), command, recipe);
}

void TellMissingChanges(tune::TuneResult& result) {
  constexpr std::string_view kMissing = "# not in this patch: ";  // python/hone/_patch.py
  bool changes = false;
  std::istringstream lines(result.patch);
  for (std::string line; std::getline(lines, line);) {
    changes = changes || line.starts_with("@@ ");
    if (!line.starts_with(kMissing)) continue;
    result.notes.push_back("no patch makes this change, write it by hand: " +
                           line.substr(kMissing.size()));
  }
  if (!changes) result.patch.clear();
}

Status WriteTuneFiles(const tune::TuneResult& result) {
  using Writer = std::function<void(std::ostream&)>;
  std::vector<std::pair<const char*, Writer>> files = {
      {"report.json", [&](std::ostream& out) { report::WriteTuneJson(result, out); }},
      {"report.html", [&](std::ostream& out) { report::WriteTuneHtml(result, out); }},
      {"report.md", [&](std::ostream& out) { report::WriteTuneMarkdown(result, out); }}};
  if (!result.winner.empty()) {
    files.emplace_back("recipe.json", [&](std::ostream& out) { out << RecipeJson(result); });
  }
  if (!result.patch.empty()) {
    files.emplace_back("recipe.patch", [&](std::ostream& out) { out << result.patch; });
  }
  for (const auto& [name, write] : files) {
    HONE_RETURN_IF_ERROR(WriteFile(fmt::format("{}/{}", result.folder, name), write));
  }
  return Ok();
}

}  // namespace hone::cli
