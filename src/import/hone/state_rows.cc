// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "import/hone/session.h"

namespace hone::importer::hone_file {
namespace {

constexpr std::uint64_t kMostMissed = std::uint64_t{1} << 40;  // so that counts can be added up

trace::MemoryDevice DeviceType(std::int64_t type) {  // c10::DeviceType
  return type == 0   ? trace::MemoryDevice::kHost
         : type == 1 ? trace::MemoryDevice::kGpu
                     : trace::MemoryDevice::kOther;
}

}  // namespace

bool StateReader::Take(const wire::Chunk& chunk) {
  if (chunk.table() == "memory") {
    TakeMemory(chunk);
  } else if (chunk.table() == "samples") {
    TakeSamples(chunk);
  } else if (chunk.table() == "counters") {
    TakeCounters(chunk);
  } else if (chunk.table() == "threads") {
    TakeThreads(chunk);
  } else if (chunk.table() == "losses") {
    TakeLosses(chunk);
  } else {
    return false;
  }
  return true;
}

void StateReader::TakeMemory(const wire::Chunk& chunk) {
  if (!session_.Has(chunk, {"tid", "time", "bytes"})) return;
  const Numbers tid{chunk.Integers("tid")}, time{chunk.Integers("time")};
  const Numbers type{chunk.Integers("device_type")}, device{chunk.Integers("device")};
  const Numbers address{chunk.Integers("address")}, bytes{chunk.Integers("bytes")};
  const Numbers freed{chunk.Integers("freed")}, allocated{chunk.Integers("allocated"), -1};
  const Numbers reserved{chunk.Integers("reserved"), -1}, oom{chunk.Integers("oom")};
  const Numbers frame{chunk.Integers("frame")};
  for (std::size_t i = 0; i < chunk.rows(); ++i) {
    MemoryRow row{{}, freed[i] != 0};
    if (!session_.ReadTime(time[i], row.input.time_ns)) continue;
    row.input.thread = session_.Thread(tid[i]);
    if (oom[i] != 0) {
      session_.builder.AddInstant(row.input.time_ns, session_.builder.Intern("[OutOfMemory]"),
                                  row.input.thread);
      continue;
    }
    row.input.device_type = DeviceType(type[i]);
    row.input.device_id =
        static_cast<std::int16_t>(std::clamp<std::int64_t>(device[i], -1, INT16_MAX));
    row.input.address = static_cast<std::uint64_t>(address[i]);
    row.input.bytes = bytes[i];
    row.input.total_allocated = std::max<Bytes>(allocated[i], -1);
    row.input.total_reserved = std::max<Bytes>(reserved[i], -1);
    row.input.frame = session_.dictionary.Frame(frame[i]);
    memory_.push_back(row);
  }
}

void StateReader::TakeSamples(const wire::Chunk& chunk) {
  if (!session_.Has(chunk, {"tid", "time", "frame"})) return;
  const Numbers tid{chunk.Integers("tid")}, time{chunk.Integers("time")};
  const Numbers frame{chunk.Integers("frame")}, state{chunk.Integers("state")};
  const Numbers period{chunk.Integers("period")};
  for (std::size_t i = 0; i < chunk.rows(); ++i) {
    Session::Time span;
    if (!session_.ReadSpan(time[i], period[i], span)) continue;
    trace::SampleInput sample;
    sample.frame = session_.dictionary.Frame(frame[i]);
    if (sample.frame == 0) continue;  // no Python on this thread
    sample.time_ns = span.start_ns;
    sample.period_ns = span.duration_ns;
    sample.thread = session_.Thread(tid[i]);
    sample.state = state[i] == 1   ? trace::ThreadState::kRunning
                   : state[i] == 2 ? trace::ThreadState::kWaiting
                                   : trace::ThreadState::kUnknown;
    session_.builder.Add(sample);
  }
}

void StateReader::TakeCounters(const wire::Chunk& chunk) {
  if (!session_.Has(chunk, {"time", "track", "series"})) return;
  const Numbers time{chunk.Integers("time")}, track{chunk.Integers("track")};
  const Numbers series{chunk.Integers("series")};
  const auto values = chunk.Doubles("value");
  if (values.empty()) return;
  for (std::size_t i = 0; i < chunk.rows(); ++i) {
    Nanos at = 0;
    if (!std::isfinite(values[i]) || !session_.ReadTime(time[i], at)) continue;
    session_.builder.AddCounter(at, session_.dictionary.Name(track[i]),
                                session_.dictionary.Name(series[i]), values[i]);
  }
}

void StateReader::TakeThreads(const wire::Chunk& chunk) {
  const auto tids = chunk.Integers("tid");
  const auto names = chunk.Texts("name");
  for (std::size_t i = 0; i < std::min(tids.size(), names.size()); ++i) {
    session_.thread_names.insert_or_assign(tids[i], std::string(names[i]));
  }
}

void StateReader::TakeLosses(const wire::Chunk& chunk) {
  const auto what = chunk.Texts("what"), detail = chunk.Texts("detail");
  const Numbers count{chunk.Integers("count")};
  for (std::size_t i = 0; i < what.size(); ++i) {
    constexpr std::size_t kMostKinds = 64;  // the recorder has a dozen
    const std::string key(what[i].substr(0, 100));
    if (session_.missed.size() >= kMostKinds && !session_.missed.contains(key)) continue;
    Missed& missed = session_.missed[key];
    const auto more = static_cast<std::uint64_t>(std::max<std::int64_t>(count[i], 1));
    missed.count = std::min(missed.count + std::min(more, kMostMissed), kMostMissed);
    if (missed.detail.empty() && !detail.empty()) missed.detail = detail[i].substr(0, 300);
  }
}

void StateReader::Finish() {
  // Threads write their own logs, so rows come thread by thread; a block may be freed by another.
  std::stable_sort(memory_.begin(), memory_.end(), [](const MemoryRow& a, const MemoryRow& b) {
    return a.input.time_ns < b.input.time_ns;
  });
  std::unordered_map<std::uint64_t, Bytes> sizes;  // of host memory in use, by address
  for (MemoryRow& row : memory_) {
    if (row.input.device_type == trace::MemoryDevice::kHost) {
      if (!row.freed && row.input.bytes > 0) sizes[row.input.address] = row.input.bytes;
      const auto known = sizes.find(row.input.address);
      if (row.freed && row.input.bytes == 0) {
        if (known == sizes.end()) continue;  // allocated before recording began: size not known
        row.input.bytes = -known->second;
      }
      if (row.freed && known != sizes.end()) sizes.erase(known);
    }
    session_.builder.Add(row.input);
  }
  memory_ = {};
}

}  // namespace hone::importer::hone_file
