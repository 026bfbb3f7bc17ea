// SPDX-License-Identifier: Apache-2.0
#include "import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "base/byte_source.h"
#include "base/text.h"
#include "import/hone/run_folder.h"
#include "wire/control_page.h"
#include "wire/file_writer.h"

namespace hone::importer {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kTraceEndings = {".json",   ".json.gz",  ".json.zst",
                                                           ".sqlite", ".json.tmp", ".hone"};

bool HasTraceEnding(std::string_view name) {
  return std::any_of(kTraceEndings.begin(), kTraceEndings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

// Reports of hone end in .json, too; a trace holds the key of its events within its head, or is
// packed.
bool LooksLikeTrace(const std::string& path) {
  if (!path.ends_with(".json")) return true;
  return ReadFileHead(path, std::size_t{64} * 1024).find("\"traceEvents\"") != std::string::npos;
}

// "rank2" before "rank10": runs of digits compare as numbers.
bool NaturalLess(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      while (i < a.size() && a[i] == '0') ++i;
      while (j < b.size() && b[j] == '0') ++j;
      std::size_t a_end = i, b_end = j;
      while (a_end < a.size() && digit(a[a_end])) ++a_end;
      while (b_end < b.size() && digit(b[b_end])) ++b_end;
      if (a_end - i != b_end - j) return a_end - i < b_end - j;
      const int order = a.compare(i, a_end - i, b, j, b_end - j);
      if (order != 0) return order < 0;
      i = a_end;
      j = b_end;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
    }
  }
  if (i == a.size() && j == b.size()) return a < b;  // differ in leading zeros at most
  return i == a.size();
}

// Of a run's folder: what could not be opened, processes that left nothing, and traces that are no
// part of the run. What else lies there is its reports.
void SayLeftOut(const std::string& folder, const hone_file::RunFolder& run,
                std::vector<std::string>& left_out) {
  for (const std::string& why : run.unreadable) left_out.push_back(why + "; it is left out");
  std::size_t empty = 0;
  std::string first;
  for (const hone_file::ProcessFile& file : run.files) {
    if (file.file_bytes > 0) continue;
    if (empty++ == 0) first = fs::path(file.bytes.name).filename().string();
  }
  if (empty > 0) {
    left_out.push_back(fmt::format(
        "{}: {} of {} process files {} empty (first: {}): the disk was full, or the process ended "
        "before it wrote anything; what it did is missing",
        folder, empty, run.files.size(), empty == 1 ? "is" : "are", first));
  }
  std::size_t foreign = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool recording = name.ends_with(".hone");
    if (recording ? hone_file::IsProcessFile(name) || name == wire::kMachineFile
                  : !HasTraceEnding(name) || !LooksLikeTrace(entry->path().string())) {
      continue;
    }
    if (foreign++ == 0 || name < first) first = name;
  }
  if (!run.other_ranks.empty()) {
    const std::string& other = run.files[run.other_ranks[0]].bytes.name;
    left_out.push_back(fmt::format(
        "{}: {} of another job that ran at the same time {} left out (first: {}); record each job "
        "by itself, or read one: hone analyze {}",
        folder, Count(run.other_ranks.size(), "rank"), run.other_ranks.size() == 1 ? "is" : "are",
        fs::path(other).filename().string(), other));
  }
  if (foreign > 0) {
    left_out.push_back(
        fmt::format("{}: {} {} no part of this run and left out (first: {}); to read one, name it",
                    folder, foreign, foreign == 1 ? "trace is" : "traces are", first));
  }
}

}  // namespace

Result<std::vector<std::string>> FindTraces(const std::string& path,
                                            std::vector<std::string>* left_out) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    return Error(fmt::format("{}: no such file or directory", path));
  }
  if (error) return Error(fmt::format("{}: cannot be read: {}", path, error.message()));
  if (status.type() != fs::file_type::directory) return std::vector<std::string>{path};
  // A run's folder holds reports of it, too.
  const hone_file::RunFolder run = hone_file::ReadRunFolder(path);
  std::vector<std::string> found;
  for (const hone_file::Job& job : run.jobs) found.push_back(run.files[job.leader].bytes.name);
  if (!found.empty()) {
    if (left_out != nullptr) SayLeftOut(path, run, *left_out);
    return found;
  }
  std::size_t others = 0;
  std::string first_other;
  fs::directory_iterator entries(path, error);
  if (error) return Error(fmt::format("{}: cannot be read: {}", path, error.message()));
  for (const fs::directory_iterator end; entries != end; entries.increment(error)) {
    if (error) break;
    const bool regular = entries->is_regular_file(error);
    if (regular && HasTraceEnding(entries->path().filename().string())) {
      found.push_back(entries->path().string());
    } else {
      const std::string name = entries->path().filename().string();
      if (name.front() == '.') continue;  // .git, .DS_Store: nobody takes them for traces
      ++others;
      if (first_other.empty() || name < first_other) first_other = name;
    }
  }
  if (found.empty()) {
    return Error(
        fmt::format("{}: no traces in this directory ({} other {}); expected *.json, "
                    "*.json.gz, *.json.zst, *.sqlite or *.hone",
                    path, others, others == 1 ? "entry" : "entries"));
  }
  std::sort(found.begin(), found.end(), NaturalLess);
  if (left_out != nullptr && !first_other.empty()) {
    left_out->push_back(
        fmt::format("{}: {} {} left out (first: {}): not named as a trace; to read one, name it",
                    path, others, others == 1 ? "entry is" : "entries are", first_other));
  }
  return found;
}

Result<trace::Trace> LoadTrace(const std::string& path, const ImportOptions& options) {
  const std::string head = ReadFileHead(path, 16);
  if (head == std::string_view("SQLite format 3\0", 16)) return LoadNsys(path, options);
  const bool json = path.ends_with(".json") || path.ends_with(".json.tmp");
  if (head.size() == 16 && head.find_first_not_of('\0') == std::string::npos && !json) {
    return LoadNsys(path, options);  // a header of zeros: an export that was interrupted
  }
  const std::string_view magic(wire::kFileMagic, sizeof wire::kFileMagic);
  if (head.starts_with(magic) || path.ends_with(".hone")) return LoadHone(path, options);
  if (path.ends_with(".nsys-rep") || path.ends_with(".qdrep")) {
    return Error(fmt::format(
        "{}: an Nsight Systems report; export it first: nsys export --type sqlite {}", path, path));
  }
  return LoadKineto(path, options);
}

}  // namespace hone::importer
