// SPDX-License-Identifier: Apache-2.0
// Recordings of hone run: the door.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <filesystem>
#include <optional>

#include "base/text.h"
#include "base/torch_scope.h"
#include "import/hone/run_folder.h"
#include "import/hone/session.h"
#include "import/import.h"

namespace hone::importer {
namespace hone_file {
namespace {

using wire::MarkKind;

// The files of one job: the first leads.
struct Files : std::vector<ProcessFile> {
  std::vector<std::string> unreadable;  // of the same folder, and why
};

// The counter of a machine has one rate, whichever file tells it.
void ShareClockRate(Files& files) {
  double rate = 0;
  for (const ProcessFile& file : files) {
    if (rate == 0 && file.Text("clock") != "monotonic") rate = file.clock.Rate();
  }
  for (ProcessFile& file : files) {
    const bool counter = file.Text("clock") != "monotonic";
    if (rate > 0 && counter && file.clock.Rate() == 0) file.SetClockRate(rate);
  }
}

// "loader worker 3", else "python train.py".
std::string ProcessName(const ProcessFile& file) {
  if (!file.Text("role").empty()) return std::string(file.Text("role"));
  const std::string_view line = file.Text("cmdline");
  const std::string_view program = line.substr(0, line.find(' '));
  const std::size_t slash = program.rfind('/');
  std::string name(slash == std::string_view::npos ? line : line.substr(slash + 1));
  constexpr std::size_t kLongest = 60;
  if (name.size() > kLongest) name.resize(kLongest);
  return name;
}

void NameThreads(const Session& session) {
  trace::Trace& trace = session.builder.trace();
  for (trace::Process& process : trace.processes) {
    if (process.pid == session.pid && process.name.empty())
      process.name = ProcessName(session.file);
  }
  for (trace::Thread& thread : trace.threads) {
    if (trace.processes[thread.process].pid != session.pid) continue;
    const auto found = session.thread_names.find(thread.tid);
    if (found != session.thread_names.end()) thread.name = found->second;
  }
}

void ReportDamage(const wire::FileReader& reader, const std::string& name, LossLog& losses) {
  const wire::ReadDamage& damage = reader.damage();
  const std::string file = std::filesystem::path(name).filename().string();
  losses.Add(LossKind::kDamagedChunk, damage.chunks, 0, file + ": " + damage.first);
  if (reader.newer_version()) {
    losses.Add(LossKind::kUnknownEvent, 1, 0,
               fmt::format("{} has version {} of the format, this hone reads 1; what is new in it "
                           "is left out",
                           file, reader.version()));
  }
}

// Whether the file stops inside a window: the process was killed, or it still runs.
bool EndsOpen(const ProcessFile& leader) {
  for (auto mark = leader.marks.rbegin(); mark != leader.marks.rend(); ++mark) {
    if (mark->kind == MarkKind::kEnd || mark->kind == MarkKind::kWindowClose) return false;
    if (mark->kind == MarkKind::kWindowOpen) return true;
  }
  return true;
}

// A kind of record that is missing altogether, which answers stand on, is more than a count.
bool IsAllMissing(const std::string& what, const trace::Trace& trace) {
  if (what == "cuda") return trace.device.size() == 0;
  if (what != "operators") return false;
  return std::find(trace.host.kind.begin(), trace.host.kind.end(), trace::SliceKind::kOp) ==
         trace.host.kind.end();
}

void ReportMissed(const std::map<std::string, Missed>& missed, trace::Trace& trace) {
  std::uint64_t count = 0;
  std::string detail;
  for (const auto& [what, loss] : missed) {
    const std::string why = loss.detail.empty() ? "" : ": " + loss.detail;
    if (IsAllMissing(what, trace)) {
      trace.losses.Add(LossKind::kMissingTable, 1, 0, what + why);
      continue;
    }
    count += loss.count;
    if (detail.size() > 600) continue;
    detail += (detail.empty() ? "" : "; ") + what;
    if (loss.count > 1) detail += " " + WithThousands(loss.count);
    detail += why;
  }
  trace.losses.Add(LossKind::kNotRecorded, count, 0, detail);
}

// Where torch's callbacks were not what the recorder expects, operators came in another way, which
// misses some: "WAY, because REASON".
void ReportWayOfOperators(const ProcessFile& leader, trace::Trace& trace) {
  const std::string_view by = leader.Text("operators_by");
  if (by.empty()) return;
  trace.losses.Add(LossKind::kMissingTable, 1, 0,
                   fmt::format("operators of threads that Python started, and shapes: operators "
                               "were told by {}",
                               by));
}

void FillInfo(const Files& files, trace::Trace& trace) {
  const ProcessFile& leader = files[0];
  trace::TraceInfo& info = trace.info;
  info.path = leader.bytes.name;
  info.format = trace::Format::kHone;
  info.base_time_ns = leader.clock.epoch_offset_ns();
  info.trace_name = leader.Text("cmdline");
  info.recorder = leader.Text("recorder").empty() ? "hone" : leader.Text("recorder");
  info.cuda_runtime_version = leader.Text("cuda");
  info.cuda_driver_version = leader.Text("cuda_driver");
  info.cupti_version = leader.Text("cupti");
  info.nccl_version = leader.Text("nccl");
  info.rank = leader.Number("rank");
  info.world_size = leader.Number("world_size");
  info.backend = leader.Text("backend");
  for (const ProcessFile& file : files) info.input_bytes += file.file_bytes;
  info.raw_bytes = info.input_bytes;
}

// Marks of hone.step(), for analyze/steps.
std::vector<Nanos> AddStepMarks(const ProcessFile& leader, const RecordedSpan& span,
                                trace::Builder& builder) {
  std::vector<Nanos> times;
  for (const Mark& mark : leader.marks) {
    if (mark.kind != MarkKind::kStep || !span.Contains(mark.time_ns)) continue;
    if (std::abs(mark.time_ns) >= trace::Builder::kLatest) continue;
    builder.AddInstant(mark.time_ns, builder.Intern(fmt::format("hone.step#{}", mark.value)),
                       UINT16_MAX);
    times.push_back(mark.time_ns);
  }
  return times;
}

// The latest that belong to the window which is analyzed.
trace::TimedSteps FindTimedSteps(const ProcessFile& leader, const RecordedSpan& span) {
  trace::TimedSteps timed;
  for (const Mark& mark : leader.marks) {
    if (!span.Contains(mark.time_ns) || mark.value <= 0) continue;
    if (mark.kind == MarkKind::kRecordedSteps) timed.recorded_ns = mark.value;
    if (mark.kind != MarkKind::kBareSteps) continue;
    timed.bare_ns = mark.value;
    std::from_chars(mark.text.data(), mark.text.data() + mark.text.size(), timed.bare_steps);
  }
  return timed.recorded_ns > 0 && timed.bare_steps > 0 ? timed : trace::TimedSteps{};
}

// Where the recorder takes a step to end: at the program's own marks, else at the end of what most
// plainly ends one.
std::vector<Nanos> StepEnds(std::vector<Nanos> marks, const trace::Trace& trace) {
  if (marks.size() >= 2) return marks;
  for (const std::string_view prefix : {kProfilerStep, kOptimizerStep, kDataLoaderNext}) {
    std::vector<std::uint8_t> matches(trace.strings.size(), 0);
    for (std::size_t s = 0; s < matches.size(); ++s) {
      matches[s] = trace.strings[static_cast<StringId>(s)].starts_with(prefix) ? 1 : 0;
    }
    std::vector<Nanos> ends;
    for (trace::RowId i = 0; i < trace.host.size(); ++i) {
      if (trace.host.kind[i] == trace::SliceKind::kAnnotation &&
          matches[static_cast<std::uint32_t>(trace.host.name[i])] != 0) {
        ends.push_back(trace.host.end_ns(i));
      }
    }
    if (ends.size() < 2) continue;
    std::sort(ends.begin(), ends.end());
    return ends;
  }
  return {};
}

// Bytes of input, over all files of a job.
class Meter {
 public:
  Meter(const ImportOptions& options, std::uint64_t total) : options_(options), total_(total) {}
  void File(std::uint64_t done) const {
    if (options_.progress) options_.progress(before_ + done, total_);
  }
  void NextFile(std::uint64_t bytes) { before_ += bytes; }

 private:
  const ImportOptions& options_;
  std::uint64_t total_, before_ = 0;
};

Status ReadRows(const ProcessFile& file, Session& session, const Meter& meter) {
  Result<wire::FileReader> reader = file.bytes.Open();
  if (!reader) return std::move(reader).error();
  HostReader host(session);
  DeviceReader device(session);
  StateReader state(session);
  wire::Chunk chunk;
  while (reader->Next(chunk)) {
    if (host.Take(chunk) || device.Take(chunk) || state.Take(chunk)) {
      session.builder.trace().info.events_seen += chunk.rows();
    }
    meter.File(reader->bytes_done());
  }
  host.Finish();
  device.Finish();
  state.Finish();
  NameThreads(session);
  ReportDamage(*reader, file.bytes.name, session.builder.trace().losses);
  return Ok();
}

Result<trace::Trace> LoadJob(Files files, const ImportOptions& options) {
  ShareClockRate(files);
  const ProcessFile& leader = files[0];
  trace::Builder builder;
  trace::Trace& trace = builder.trace();
  FillInfo(files, trace);
  const RecordedSpan span(leader);
  std::map<std::string, Missed> missed;
  Meter meter(options, trace.info.input_bytes);
  for (const ProcessFile& file : files) {
    Session session(builder, file, span, missed);
    const Status read = ReadRows(file, session, meter);
    // What lies beside the leader can be done without.
    if (!read && &file == &leader) return read.error();
    if (!read) trace.losses.Add(LossKind::kDamagedChunk, 1, 0, read.error().message());
    meter.NextFile(file.file_bytes);
  }
  if (trace.host.size() + trace.device.size() + trace.samples.size() + trace.counters.size() +
          trace.memory.size() ==
      0) {
    return Error(fmt::format(
        "{}: nothing was recorded in this process ({} bytes: no operators, kernels or samples); "
        "name the folder of the run, or record again with hone run --all",
        leader.bytes.name, WithThousands(leader.file_bytes)));
  }
  for (const std::string& why : files.unreadable) {
    trace.losses.Add(LossKind::kDamagedChunk, 1, 0, why);
  }
  trace.info.timed_steps = FindTimedSteps(leader, span);
  SpreadArguments(builder, StepEnds(AddStepMarks(leader, span, builder), trace));
  span.Report(trace.losses);
  ReportMissed(missed, trace);
  ReportWayOfOperators(leader, trace);
  if (EndsOpen(leader)) {
    trace.losses.Add(LossKind::kProcessKilled, 1, 0, fmt::format("process {}", leader.Text("pid")));
  }
  const auto any_detail = [&](StringId trace::OpDetail::*field) {
    return std::any_of(trace.op_details.begin(), trace.op_details.end(),
                       [&](const trace::OpDetail& d) { return d.*field != StringId::kEmpty; });
  };
  trace.info.record_shapes = any_detail(&trace::OpDetail::dims) ? 1 : 0;
  trace.info.with_stack = trace.samples.size() > 0 || any_detail(&trace::OpDetail::stack) ? 1 : 0;
  trace.info.profile_memory = trace.memory.size() > 0 ? 1 : 0;
  return std::move(builder).Finish();
}

// The files that make up the job which this one leads; any other stands for itself.
Result<Files> FilesOf(const std::string& path) {
  const std::filesystem::path where(path);
  Files files;
  std::string machine;
  if (IsProcessFile(where.filename().string())) {
    RunFolder run = ReadRunFolder(where.parent_path().string());
    machine = run.machine;
    files.unreadable = run.unreadable;
    for (const Job& job : run.jobs) {
      const std::filesystem::path leader(run.files[job.leader].bytes.name);
      if (leader.filename() != where.filename()) continue;
      files.push_back(run.files[job.leader]);
      files[0].bytes.name = path;
      for (const std::size_t member : job.members) files.push_back(run.files[member]);
    }
  }
  if (files.empty()) {
    Result<ProcessFile> file = Survey({path});
    if (!file) return std::move(file).error();
    files.push_back(std::move(*file));
  }
  if (!machine.empty()) {
    Result<ProcessFile> counters = Survey({machine});
    if (counters) {
      files.push_back(std::move(*counters));
    } else {
      files.unreadable.push_back(counters.error().message());
    }
  }
  return files;
}

// The door: only the standard library throws, when memory runs out.
template <typename Find>
Result<trace::Trace> LoadGuarded(const std::string& name, const ImportOptions& options, Find find) {
  try {
    Result<Files> files = find();
    if (!files) return std::move(files).error();
    return LoadJob(std::move(*files), options);
  } catch (const std::exception& trouble) {
    return Error(fmt::format("{}: cannot be loaded ({}); free some memory and try again", name,
                             trouble.what()));
  }
}

}  // namespace
}  // namespace hone_file

Result<trace::Trace> LoadHone(const std::string& path, const ImportOptions& options) {
  return hone_file::LoadGuarded(path, options, [&] { return hone_file::FilesOf(path); });
}

Result<trace::Trace> LoadHoneImage(std::string_view file, const std::string& name) {
  return hone_file::LoadGuarded(name, {}, [&]() -> Result<hone_file::Files> {
    Result<hone_file::ProcessFile> survey = hone_file::Survey({name, true, file});
    if (!survey) return std::move(survey).error();
    hone_file::Files files;
    files.push_back(std::move(*survey));
    return files;
  });
}

}  // namespace hone::importer
