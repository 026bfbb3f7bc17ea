// SPDX-License-Identifier: Apache-2.0
// Session: one file of a job on its way into the job's Trace. Each reader below takes the chunks of
// its tables, in whatever order the file has them; what they share lives here.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/hone/dictionary.h"
#include "import/hone/process_file.h"
#include "import/hone/recorded_span.h"
#include "trace/builder.h"

namespace hone::importer::hone_file {

// A column as numbers; one that the file does not have reads as `absent`.
struct Numbers {
  std::span<const std::int64_t> values;
  std::int64_t absent = 0;
  std::int64_t operator[](std::size_t i) const { return values.empty() ? absent : values[i]; }
};

// What the recorder could not take, over all files of a job, by what it is.
struct Missed {
  std::uint64_t count = 0;
  std::string detail;  // the first
};

class Session {
 public:
  Session(trace::Builder& the_builder, const ProcessFile& the_file, const RecordedSpan& the_span,
          std::map<std::string, Missed>& the_missed);

  trace::Builder& builder;
  const ProcessFile& file;
  const RecordedSpan& span;
  std::map<std::string, Missed>& missed;
  Dictionary dictionary;
  std::int64_t pid = -1;
  trace::RowId process = trace::kNoRow;

  struct Time {
    Nanos start_ns = 0, duration_ns = 0;
  };
  // False when it lies outside the analyzed span, or (counted) is no time at all.
  bool ReadSpan(std::int64_t start, std::int64_t duration, Time& time);
  bool ReadTime(std::int64_t ticks, Nanos& time_ns);
  std::uint16_t Thread(std::int64_t tid) { return builder.ThreadFor(pid, tid); }

  // True when the chunk has the columns that no row can do without; else its rows are counted.
  bool Has(const wire::Chunk& chunk, std::initializer_list<const char*> columns);

  // Names of threads as the file tells them, for those that did something.
  std::unordered_map<std::int64_t, std::string> thread_names;
  // Which GPU a context lives on, as device work shows it: synchronizations name the context only.
  std::unordered_map<std::int64_t, std::int64_t> context_devices;
};

// host_rows.cc: operators, ranges, API calls, the recorder's overhead.
class HostReader {
 public:
  explicit HostReader(Session& session) : session_(session) {}
  bool Take(const wire::Chunk& chunk);  // false: not its table
  void Finish();

 private:
  // What a slice of any kind has; false: its time makes no sense (counted).
  bool ReadSlice(std::int64_t start, std::int64_t duration, std::int64_t name, std::int64_t tid,
                 trace::SliceInput& slice);
  trace::OpDetail DetailAt(std::int64_t frame);
  void TakeHost(const wire::Chunk& chunk);
  void TakeApi(const wire::Chunk& chunk);
  void TakeOverhead(const wire::Chunk& chunk);
  void TakeCollectives(const wire::Chunk& chunk);
  void LinkBackward();

  struct Autograd {
    std::int64_t forward_tid, sequence;
    Nanos time_ns;
    std::uint16_t thread;
  };
  Session& session_;
  std::vector<Autograd> forward_, backward_;
};

// device_rows.cc: kernels, copies, sets, whole graphs, synchronizations, and what the GPUs are.
class DeviceReader {
 public:
  explicit DeviceReader(Session& session) : session_(session) {}
  bool Take(const wire::Chunk& chunk);
  void Finish();

 private:
  struct Place {
    Numbers start, duration, device, context, stream, correlation, graph, node;
  };
  struct Sync {
    trace::SyncInput input;
    std::int64_t context, stream;
  };
  static Place PlaceOf(const wire::Chunk& chunk);
  bool Start(const Place& place, std::size_t row, trace::WorkInput& work);
  void TakeKernels(const wire::Chunk& chunk);
  void TakeCopies(const wire::Chunk& chunk);
  void TakeSets(const wire::Chunk& chunk);
  void TakeGraphs(const wire::Chunk& chunk);
  void TakeSyncs(const wire::Chunk& chunk);
  void TakeDevices(const wire::Chunk& chunk);

  Session& session_;
  std::vector<Sync> syncs_;
};

// state_rows.cc: memory, samples of stacks, counters, names of threads, losses.
class StateReader {
 public:
  explicit StateReader(Session& session) : session_(session) {}
  bool Take(const wire::Chunk& chunk);
  void Finish();

 private:
  struct MemoryRow {
    trace::MemoryInput input;
    bool freed;
  };
  void TakeMemory(const wire::Chunk& chunk);
  void TakeSamples(const wire::Chunk& chunk);
  void TakeCounters(const wire::Chunk& chunk);
  void TakeThreads(const wire::Chunk& chunk);
  void TakeLosses(const wire::Chunk& chunk);

  Session& session_;
  std::vector<MemoryRow> memory_;
};

// op_arguments.cc: operators outside the sampled steps get the arguments that the same operator had
// in a sampled step, where a thread ran the same sequence of operators. `boundaries`: where steps
// end, in time order. Before Finish of the builder.
void SpreadArguments(trace::Builder& builder, const std::vector<Nanos>& boundaries);

}  // namespace hone::importer::hone_file
