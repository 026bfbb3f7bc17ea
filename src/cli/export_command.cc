// SPDX-License-Identifier: Apache-2.0
#include "cli/export_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/terminal.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/answer.h"
#include "export/csv.h"
#include "export/input_losses.h"
#include "import/import.h"

namespace hone::cli {

namespace fs = std::filesystem;

namespace {

void Say(Console& console, std::string_view message) {
  console.err << "hone: " << Printable(message, LocaleIsUtf8()) << '\n';
}

// "runs/trace.json.gz" -> "trace", "ranks/" -> "ranks".
std::string StemOf(const std::string& path) {
  fs::path name = fs::path(path).lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  std::string stem = name.filename().string();
  for (const std::string_view ending :
       {".gz", ".zst", ".json", ".sqlite", ".hone", ".chrome", ".pt.trace"}) {
    if (stem.size() > ending.size() && stem.ends_with(ending)) {
      stem.erase(stem.size() - ending.size());
    }
  }
  return stem.empty() || stem == "." || stem == ".." ? "trace" : stem;
}

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const exporter::Format& format : exporter::Formats()) names.emplace_back(format.name);
  return names;
}

}  // namespace

// One call of the verb.
struct ExportCommand::Job {
  Job(Console& where, bool show)
      : console(where),
        progress(where.err, show && IsTerminal(where.err_fd), TerminalWidth(where.err_fd),
                 LocaleIsUtf8()) {}

  Console& console;
  Progress progress;
  int code = kExitFine;
  bool several = false;
  std::vector<std::int64_t> other_ranks;  // not asked for
  std::size_t written = 0;                // ranks so far
  std::set<std::string> paths;            // that hold one rank each
  // What ranks share: open while they are added. One of file and place.
  std::string shared_path;
  std::unique_ptr<OutputFile> file;
  std::unique_ptr<PartPath> place;
  std::unique_ptr<exporter::Writer> writer;

  void Fail(int with, std::string_view message) {
    progress.Erase();
    Say(console, message);
    if (code != kExitFailed) code = with;
  }
};

const VerbInfo& ExportCommand::info() const {
  static const VerbInfo kInfo = {
      "export",
      "write a trace in the format of another tool",
      "hone export TRACE... --to FORMAT [-o FILE] [options]",
      "Writes everything a trace holds, and the steps and causes of idle time that hone found in "
      "it, for Perfetto, chrome://tracing, SQLite, spreadsheets or speedscope. Reads whatever "
      "hone analyze reads. Several traces, or a directory, are the ranks of one job and share a "
      "file; only speedscope gets one for each rank.",
      {{"hone export trace.json.gz --to perfetto",
        "trace.perfetto-trace, for https://ui.perfetto.dev."},
       {"hone export report.sqlite --to chrome -o report.json.gz",
        "An Nsight Systems export as a trace that PyTorch's tools read."},
       {"hone export trace.json.gz --to csv --table device_work -o - | head",
        "Kernels and copies, one a line, to another program."}},
      "Exit codes: 0 fine, 1 the file cannot be written, 2 usage, 3 an input could not be read "
      "(in full). hone help export says what each format holds."};
  return kInfo;
}

void ExportCommand::Declare(CLI::App& app) {
  app.add_option("TRACE", paths_, "trace files, or a directory of ranks")
      ->option_text("TRACE")
      ->required();
  app.add_option("--to", to_, "the format")
      ->option_text("FORMAT")
      ->required()
      ->check(OneOf(FormatNames()))
      ->group("what to write");
  app.add_option("-o,--output", output_,
                 "the file, or for csv the folder; - for standard output; without it a name made "
                 "of the trace's, in this folder")
      ->option_text("FILE")
      ->group("what to write");
  app.add_option("--table", table_, "csv: one table in one file instead of a folder of all")
      ->option_text("NAME")
      ->check(OneOf(exporter::CsvTables()))
      ->group("what to write");
  app.add_flag("--gzip", gzip_, "compress, as for a name that ends in .gz")->group("what to write");
  app.add_option("--rank", rank_, "only this rank")
      ->option_text("N")
      ->check(WholeNumber())
      ->group("other");
  app.add_flag("--quiet", quiet_, "no progress bar and no summary")->group("other");
}

Status ExportCommand::Check(const std::vector<std::string>& files) const {
  if (!table_.empty() && to_ != "csv") {
    return Error(fmt::format("--table is for csv, not for {}; drop it or use --to csv", to_));
  }
  if (gzip_ && IsPlace()) {
    return Error(fmt::format("--gzip: {} cannot be compressed as it is written; drop it", to_));
  }
  if (output_ == "-" && IsPlace()) {
    return Error(to_ == "csv" ? "-o -: csv is a folder of tables; name one with --table"
                              : fmt::format("-o -: {} needs a file; name one with -o", to_));
  }
  if (output_ == "-" && !SharesOutput() && files.size() > 1 && rank_ < 0) {
    return Error(fmt::format("-o -: {} is one file a rank and there are {}; choose one with --rank",
                             to_, files.size()));
  }
  if (!output_.empty() && IsOneOf(output_, files)) {
    return Error(fmt::format("-o {}: is the trace itself; name another file", output_));
  }
  return Ok();
}

// The rank, or else the trace's name, tells files apart where each rank has its own.
std::string ExportCommand::PathFor(const exporter::Exported& rank, const std::string& file) const {
  const std::string extension =
      table_.empty() ? std::string(format_->extension) : fmt::format("{}.csv", table_);
  const bool own = rank.several_ranks && !SharesOutput();
  if (!own && !output_.empty()) return output_;
  const std::string stem = StemOf(rank.several_ranks ? paths_[0] : file);
  if (!own) return fmt::format("{}.{}", stem, extension);
  const std::int64_t number = rank.trace.info.rank;
  const std::string which = number >= 0 ? fmt::format("rank{}", number) : StemOf(file);
  if (output_.empty()) return fmt::format("{}.{}.{}", stem, which, extension);
  const fs::path path(output_);
  return path.parent_path() /
         fmt::format("{}.{}{}", path.stem().string(), which, path.extension().string());
}

void ExportCommand::SayWritten(const std::string& path, std::uint64_t bytes, Job& job) const {
  if (path == "-" || quiet_) return;
  job.progress.Erase();
  const std::string size = bytes > 0 ? ": " + HumanBytes(static_cast<double>(bytes)) : "";
  const std::string ranks =
      SharesOutput() && job.written > 1 ? fmt::format(", {} ranks", job.written) : "";
  job.console.out << Printable(fmt::format("{}{}{}; {}", path, size, ranks, format_->next),
                               LocaleIsUtf8())
                  << '\n';
}

Status ExportCommand::OpenShared(const std::string& path, Job& job) {
  job.shared_path = path;
  if (IsPlace()) {
    Result<std::unique_ptr<PartPath>> place = PartPath::Make(path);
    if (!place) return std::move(place).error();
    job.place = std::move(*place);
    Result<std::unique_ptr<exporter::Writer>> writer = format_->create(job.place->part());
    if (!writer) return std::move(writer).error().WithContext(path);
    job.writer = std::move(*writer);
    return Ok();
  }
  Result<std::unique_ptr<OutputFile>> file = OutputFile::Open(path, WantsGzip(path), job.console);
  if (!file) return std::move(file).error();
  job.file = std::move(*file);
  job.writer = table_.empty() ? format_->open(job.file->stream())
                              : exporter::OpenCsvTable(table_, job.file->stream());
  return Ok();
}

Status ExportCommand::FinishShared(Job& job) {
  if (!job.writer) return Ok();
  Status finished = job.writer->Finish();
  if (!finished) return std::move(finished).error().WithContext(job.shared_path);
  job.writer.reset();
  Result<std::uint64_t> bytes = job.place ? job.place->Commit() : job.file->Commit();
  if (!bytes) return std::move(bytes).error();
  SayWritten(job.shared_path, *bytes, job);
  return Ok();
}

Status ExportCommand::Write(const exporter::Exported& rank, const std::string& file, Job& job) {
  const std::string path = PathFor(rank, file);
  if (IsOneOf(path, paths_)) {
    if (!job.several || !output_.empty()) {
      return Error(fmt::format("{}: is the trace itself; name another file with -o", path));
    }
    return Error(
        fmt::format("{}: is one of the traces that are read, or an earlier export among them; move "
                    "it to another folder, or name the traces one by one and the file with -o",
                    path));
  }
  if (SharesOutput()) {
    if (!job.writer) HONE_RETURN_IF_ERROR(OpenShared(path, job));
    Status added = job.writer->Add(rank);
    if (!added) return std::move(added).error().WithContext(path);
    return Ok();
  }
  if (!job.paths.insert(path).second) {
    return Error(
        fmt::format("{}: was just written from another trace of rank {}; export them one by one",
                    path, rank.trace.info.rank));
  }
  Result<std::unique_ptr<OutputFile>> out = OutputFile::Open(path, WantsGzip(path), job.console);
  if (!out) return std::move(out).error();
  HONE_RETURN_IF_ERROR(format_->write(rank, (*out)->stream()));
  Result<std::uint64_t> bytes = (*out)->Commit();
  if (!bytes) return std::move(bytes).error();
  SayWritten(path, *bytes, job);
  return Ok();
}

void ExportCommand::ExportOne(const std::string& file, Job& job) {
  std::uint64_t bytes = 0;
  importer::ImportOptions load;
  load.progress = [&](std::uint64_t done, std::uint64_t total) {
    bytes = total;
    job.progress.Update(done, total, file);
  };
  Result<trace::Trace> trace = importer::LoadTrace(file, load);
  if (!trace) return job.Fail(kExitUnreadable, trace.error().message());
  if (rank_ >= 0 && trace->info.rank != rank_ && job.several) {
    job.other_ranks.push_back(trace->info.rank);
    return;
  }
  if (trace->info.compression_damaged) {
    const std::string& damage = trace->losses[LossKind::kDamagedCompression].first_detail;
    job.Fail(kExitUnreadable, fmt::format("{}: {}; the {} before it {} written", file,
                                          damage.empty() ? "the stream is damaged" : damage,
                                          Count(trace->info.events_seen, "event"),
                                          trace->info.events_seen == 1 ? "is" : "are"));
  }
  const analyze::Facts facts = analyze::Analyze(*trace);
  exporter::Exported rank{*trace, facts, job.written, job.several && rank_ < 0, {}, {}};
  rank.progress = [&](std::uint64_t done, std::uint64_t total) {
    const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
    job.progress.Update(static_cast<std::uint64_t>(share * static_cast<double>(bytes)), bytes,
                        "writing " + file);
  };
  rank.note = [&](const std::string& clause) {
    job.progress.Erase();
    if (!quiet_) Say(job.console, fmt::format("{}: {}", file, clause));
  };
  for (const LossKind kind : exporter::InputLosses(trace->losses)) {
    if (Describe(kind).severity == Severity::kInfo || trace->info.compression_damaged) continue;
    const LossCount& loss = trace->losses[kind];
    const std::string where = loss.first_detail.empty() ? ""
                              : loss.count == 1         ? " (" + loss.first_detail + ")"
                                                        : " (first: " + loss.first_detail + ")";
    rank.note(fmt::format("{}{}; trust is {}, hone analyze says more",
                          CountedLoss(kind, loss.count), where,
                          analyze::VerdictName(facts.trust.verdict)));
  }
  const Status written = Write(rank, file, job);
  job.progress.Erase();
  if (!written) return job.Fail(kExitFailed, written.error().message());
  ++job.written;
}

int ExportCommand::Run(Console& console) {
  for (const exporter::Format& format : exporter::Formats()) {
    if (format.name == to_) format_ = &format;
  }
  Job job(console, !quiet_);
  std::vector<std::string> files;
  for (const std::string& path : paths_) {
    Result<std::vector<std::string>> found = importer::FindTraces(path);
    if (!found) {
      job.Fail(kExitUnreadable, found.error().message());
      continue;
    }
    files.insert(files.end(), found->begin(), found->end());
  }
  const Status checked = Check(files);
  if (!checked) {
    Say(console, checked.error().message());
    return kExitUsage;
  }
  job.several = files.size() > 1;
  for (const std::string& file : files) {
    ExportOne(file, job);
    if (job.code == kExitFailed) return job.code;
  }
  const Status finished = FinishShared(job);
  if (!finished) job.Fail(kExitFailed, finished.error().message());
  if (job.written == 0 && job.code == kExitFine) {
    Say(console, fmt::format("--rank {}: no trace of that rank; there are: {}", rank_,
                             fmt::join(job.other_ranks, ", ")));
    return kExitUsage;
  }
  return job.code;
}

}  // namespace hone::cli
