// SPDX-License-Identifier: Apache-2.0
#include "export/chrome.h"

#include "export/chrome_rank.h"
#include "export/first_moment.h"
#include "export/input_losses.h"

namespace hone::exporter {
namespace {

// What viewers keep of a time: a double of microseconds is exact to the nanosecond up to here
// (52 days). Files whose times count from 1970 are moved.
constexpr Nanos kExactNanos = Nanos{1} << 52;

class ChromeWriter : public Writer {
 public:
  explicit ChromeWriter(std::ostream& out) : out_(out) {}

  Status Add(const Exported& rank) override {
    const trace::TraceInfo& info = rank.trace.info;
    if (rank.several_ranks) losses_.Merge(rank.trace.losses);
    if (first_) {
      const Nanos begin = FirstMoment(rank.trace);
      base_ns_ = info.base_time_ns + (begin > kExactNanos ? begin / kSecond * kSecond : 0);
      Head(rank);
    }
    ids_.NextRank();
    ChromeRank events(rank, info.base_time_ns - base_ns_, ids_, out_);
    events.Write(first_);
    first_ = false;
    if (rank.trace.samples.size() == 0) return Ok();
    if (!rank.several_ranks) {
      out_.Raw("\n]");
      closed_ = true;
      events.WriteSamples();
    } else if (rank.note) {
      rank.note("stack samples are left out, chrome's format holds those of one rank only");
    }
    return Ok();
  }

  Status Finish() override {
    if (!closed_) out_.Raw("\n]");
    Losses(losses_, ",\n", "");  // of several ranks: known when all were written
    out_.Raw("\n}\n");
    out_.Flush();
    return Ok();
  }

 private:
  void Head(const Exported& rank);
  void Devices(const trace::Trace& trace);
  void Distributed(const trace::Trace& trace);
  void Losses(const LossLog& losses, std::string_view before, std::string_view after);
  void Setting(std::string_view key, int value) {
    if (value >= 0) out_.Raw("\"").Raw(key).Raw("\": ").Int(value).Raw(",\n");
  }
  void Text(std::string_view key, const std::string& value) {
    if (!value.empty()) out_.Raw("\"").Raw(key).Raw("\": ").Quoted(value).Raw(",\n");
  }

  TextOutput out_;
  ProcessIds ids_;
  Nanos base_ns_ = 0;
  LossLog losses_;  // of several ranks
  bool first_ = true, closed_ = false;
};

void ChromeWriter::Devices(const trace::Trace& trace) {
  if (trace.devices.empty()) return;
  out_.Raw("\"deviceProperties\": [");
  for (std::size_t i = 0; i < trace.devices.size(); ++i) {
    const trace::Device& device = trace.devices[i];
    if (i > 0) out_.Raw(", ");
    JsonMembers members(out_);
    const auto number = [&](std::string_view key, std::int64_t value) {
      if (value >= 0) members.Key(key).Int(value);
    };
    members.Key("id").Int(device.id);
    if (!device.name.empty()) members.Key("name").Quoted(device.name);
    number("totalGlobalMem", device.memory_bytes);
    number("computeMajor", device.compute_major);
    number("computeMinor", device.compute_minor);
    number("numSms", device.sm_count);
    number("warpSize", device.warp_size);
    number("maxThreadsPerMultiprocessor", device.max_threads_per_sm);
    number("maxThreadsPerBlock", device.max_threads_per_block);
    number("regsPerMultiprocessor", device.registers_per_sm);
    number("sharedMemPerMultiprocessor", device.shared_memory_per_sm);
    members.End();
  }
  out_.Raw("],\n");
}

void ChromeWriter::Distributed(const trace::Trace& trace) {
  const trace::TraceInfo& info = trace.info;
  if (info.rank < 0 && info.world_size < 0 && trace.process_groups.empty()) return;
  JsonMembers members(out_, "\"distributedInfo\": ");
  members.Key("backend").Quoted(info.backend);
  if (info.rank >= 0) members.Key("rank").Int(info.rank);
  if (info.world_size >= 0) members.Key("world_size").Int(info.world_size);
  if (!info.nccl_version.empty()) members.Key("nccl_version").Quoted(info.nccl_version);
  members.Key("pg_config").Raw("[");
  for (std::size_t i = 0; i < trace.process_groups.size(); ++i) {
    const trace::ProcessGroup& group = trace.process_groups[i];
    if (i > 0) out_.Raw(", ");
    JsonMembers config(out_);
    config.Key("pg_name").Quoted(group.name);
    config.Key("pg_desc").Quoted(group.description);
    config.Key("backend_config").Quoted(group.backend);
    if (group.size >= 0) config.Key("pg_size").Int(group.size);
    config.Key("ranks").Raw("[");
    for (std::size_t r = 0; r < group.ranks.size(); ++r) {
      out_.Raw(r > 0 ? ", " : "").Int(group.ranks[r]);
    }
    out_.Raw("]");
    config.End();
  }
  out_.Raw("]");
  members.End();
  out_.Raw(",\n");
}

// Read again by hone; other readers pass over keys that they do not know.
void ChromeWriter::Losses(const LossLog& losses, std::string_view before, std::string_view after) {
  bool any = false;
  for (const LossKind kind : InputLosses(losses)) {
    const LossCount& loss = losses[kind];
    if (!any) out_.Raw(before);
    out_.Raw(any ? ", " : "\"honeLosses\": [");
    any = true;
    JsonMembers members(out_);
    members.Key("loss").Quoted(Describe(kind).id);
    members.Key("count").Int(static_cast<std::int64_t>(loss.count));
    members.Key("time_ns").Int(loss.time_ns);
    members.Key("detail").Quoted(loss.first_detail);
    members.End();
  }
  if (any) out_.Raw("]").Raw(after);
}

// What the first rank says about itself; of several ranks, only what holds for all.
void ChromeWriter::Head(const Exported& rank) {
  const trace::TraceInfo& info = rank.trace.info;
  out_.Raw("{\n\"schemaVersion\": 1,\n");
  if (!rank.several_ranks) {
    Devices(rank.trace);
    Distributed(rank.trace);
    Text("traceName", info.trace_name);
    Losses(rank.trace.losses, "", ",\n");
  }
  Text("recorder", info.recorder);
  Text("cuda_runtime_version", info.cuda_runtime_version);
  Text("cuda_driver_version", info.cuda_driver_version);
  Text("cupti_version", info.cupti_version);
  Setting("with_stack", info.with_stack);
  Setting("record_shapes", info.record_shapes);
  Setting("profile_memory", info.profile_memory);
  Setting("with_flops", info.with_flops);
  Setting("with_modules", info.with_modules);
  out_.Raw("\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": ").Int(base_ns_);
  out_.Raw(",\n\"traceEvents\": [");
}

}  // namespace

std::unique_ptr<Writer> OpenChrome(std::ostream& out) {
  return std::make_unique<ChromeWriter>(out);
}

}  // namespace hone::exporter
