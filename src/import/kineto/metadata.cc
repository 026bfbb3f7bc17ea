// SPDX-License-Identifier: Apache-2.0
#include "import/kineto/metadata.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string>

#include "import/kineto/scalar.h"

namespace hone::importer::kineto {
namespace {

namespace dom = simdjson::dom;

std::int64_t Integer(const dom::object& object, std::string_view key, std::int64_t fallback) {
  std::int64_t value = fallback;
  if (object[key].get(value) == simdjson::SUCCESS) return value;
  double real = 0;
  if (object[key].get(real) == simdjson::SUCCESS && real > -9e18 && real < 9e18) {
    return static_cast<std::int64_t>(real);
  }
  std::string_view text;
  if (object[key].get(text) == simdjson::SUCCESS) return ParseInteger(text).value_or(fallback);
  return fallback;
}

// Under the first of its names that the file has.
int SmallInteger(const dom::object& object, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const std::int64_t value = Integer(object, key, -1);
    if (value >= 0 && value <= INT32_MAX) return static_cast<int>(value);
  }
  return -1;
}

std::string Text(const dom::object& object, std::string_view key) {
  std::string_view text;
  if (object[key].get(text) == simdjson::SUCCESS) return std::string(text);
  return {};
}

void ReadDevices(const dom::element& root, trace::Builder& builder) {
  dom::array devices;
  if (root.get(devices) != simdjson::SUCCESS) return;
  for (const dom::element element : devices) {
    dom::object properties;
    if (element.get(properties) != simdjson::SUCCESS) continue;
    trace::Device& device =
        builder.trace().devices[builder.DeviceFor(Integer(properties, "id", 0))];
    device.name = Text(properties, "name");
    device.memory_bytes = Integer(properties, "totalGlobalMem", -1);
    device.compute_major = SmallInteger(properties, {"computeMajor", "major"});
    device.compute_minor = SmallInteger(properties, {"computeMinor", "minor"});
    device.sm_count =
        SmallInteger(properties, {"numSms", "multiProcessorCount", "maxComputeUnits"});
    device.warp_size = SmallInteger(properties, {"warpSize"});
    device.max_threads_per_sm =
        SmallInteger(properties, {"maxThreadsPerMultiprocessor", "maxThreadsPerMultiProcessor"});
    device.max_threads_per_block = SmallInteger(properties, {"maxThreadsPerBlock"});
    device.registers_per_sm = Integer(properties, "regsPerMultiprocessor", -1);
    device.shared_memory_per_sm = Integer(properties, "sharedMemPerMultiprocessor", -1);
    if (device.shared_memory_per_sm < 0) {
      device.shared_memory_per_sm = Integer(properties, "maxSharedMemoryPerMultiProcessor", -1);
    }
  }
}

// A list of numbers, or the same as text: "[0, 1, 2]", perhaps cut with "...".
std::vector<std::int64_t> ReadRanks(const dom::object& group) {
  std::vector<std::int64_t> ranks;
  dom::array list;
  if (group["ranks"].get(list) == simdjson::SUCCESS) {
    for (const dom::element element : list) {
      std::int64_t rank = 0;
      if (element.get(rank) == simdjson::SUCCESS) ranks.push_back(rank);
    }
    return ranks;
  }
  const std::string text = Text(group, "ranks");
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::int64_t rank = 0;
    const auto [after, error] = std::from_chars(at, end, rank);
    if (error == std::errc{}) ranks.push_back(rank);
    at = error == std::errc{} ? after : at + 1;
  }
  return ranks;
}

void ReadDistributed(const dom::element& root, trace::Builder& builder) {
  dom::object info;
  if (root.get(info) != simdjson::SUCCESS) return;
  trace::Trace& trace = builder.trace();
  trace.info.rank = Integer(info, "rank", trace.info.rank);
  trace.info.world_size = Integer(info, "world_size", trace.info.world_size);
  trace.info.backend = Text(info, "backend");
  trace.info.nccl_version = Text(info, "nccl_version");
  dom::array groups;
  if (info["pg_config"].get(groups) != simdjson::SUCCESS) return;
  for (const dom::element element : groups) {
    dom::object config;
    if (element.get(config) != simdjson::SUCCESS) continue;
    trace::ProcessGroup group;
    group.name = Text(config, "pg_name");
    group.description = Text(config, "pg_desc");
    group.backend = Text(config, "backend_config");
    group.size = Integer(config, "pg_size", -1);
    group.ranks = ReadRanks(config);
    trace.process_groups.push_back(std::move(group));
  }
}

void ReadSetting(int& setting, std::string_view json) {
  const std::string_view text = Unquote(json);
  if (text == "true" || text == "True") {
    setting = 1;
  } else if (const auto value = ParseInteger(text)) {
    setting = *value != 0 ? 1 : 0;
  } else {
    setting = 0;
  }
}

// 13000 -> "13.0"; other shapes stay as they are.
std::string CudaVersion(std::string_view json) {
  const std::string_view text = Unquote(json);
  const auto number = ParseInteger(text);
  if (!number || *number < 1000) return std::string(text);
  return std::to_string(*number / 1000) + "." + std::to_string(*number % 1000 / 10);
}

constexpr Nanos kMostLost = Nanos{1} << 59;  // as much as a trace may hold

// As `hone export --to chrome` writes them.
void ReadLosses(const dom::element& root, trace::Builder& builder) {
  dom::array losses;
  if (root.get(losses) != simdjson::SUCCESS) return;
  for (const dom::element element : losses) {
    dom::object loss;
    if (element.get(loss) != simdjson::SUCCESS) continue;
    const std::string id = Text(loss, "loss");
    const std::int64_t count = Integer(loss, "count", 0);
    for (std::size_t kind = 0; kind < kLossKindCount && count > 0; ++kind) {
      if (id != Describe(static_cast<LossKind>(kind)).id) continue;
      builder.trace().losses.Add(static_cast<LossKind>(kind), static_cast<std::uint64_t>(count),
                                 std::clamp<Nanos>(Integer(loss, "time_ns", 0), 0, kMostLost),
                                 Text(loss, "detail"));
    }
  }
}

}  // namespace

void ReadMetadata(std::string_view key, std::string_view json, trace::Builder& builder) {
  trace::TraceInfo& info = builder.trace().info;
  // PyTorch 1.8 and 1.9 call the devices' properties after CUDA's own struct.
  const bool devices = key == "deviceProperties" || key == "computeProperties";
  if (devices || key == "distributedInfo" || key == "honeLosses") {
    dom::parser parser;
    dom::element root;
    const simdjson::padded_string text(json);
    if (parser.parse(text).get(root) != simdjson::SUCCESS) {
      builder.trace().losses.Add(LossKind::kUnreadableMetadata, 1, 0, key);
    } else if (devices) {
      ReadDevices(root, builder);
    } else if (key == "honeLosses") {
      ReadLosses(root, builder);
    } else {
      ReadDistributed(root, builder);
    }
  } else if (key == "baseTimeNanoseconds") {
    const std::int64_t base = ParseInteger(Unquote(json)).value_or(0);
    // A base that no clock shows would overflow when added to times.
    if (base > -trace::Builder::kLatest && base < trace::Builder::kLatest) info.base_time_ns = base;
  } else if (key == "traceName") {
    info.trace_name = Unescape(Unquote(json));
  } else if (key == "with_stack") {
    ReadSetting(info.with_stack, json);
  } else if (key == "record_shapes") {
    ReadSetting(info.record_shapes, json);
  } else if (key == "profile_memory") {
    ReadSetting(info.profile_memory, json);
  } else if (key == "with_flops") {
    ReadSetting(info.with_flops, json);
  } else if (key == "with_modules") {
    ReadSetting(info.with_modules, json);
  } else if (key == "cuda_runtime_version") {
    info.cuda_runtime_version = CudaVersion(json);
  } else if (key == "cuda_driver_version") {
    info.cuda_driver_version = CudaVersion(json);
  } else if (key == "cupti_version") {
    info.cupti_version = std::string(Unquote(json));
  }
}

}  // namespace hone::importer::kineto
