// SPDX-License-Identifier: Apache-2.0
#include "collect/cuda_tuning.h"

#include <charconv>
#include <string_view>

namespace hone::collect {
namespace {

template <typename Integer>
bool Number(std::string_view text, Integer& value) {
  Integer read{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  value = read;
  return true;
}

bool Flag(std::string_view text, bool& value) {
  if (text != "0" && text != "1") return false;
  value = text == "1";
  return true;
}

bool WhichApi(std::string_view text, CudaTuning::Api& value) {
  if (text == "none")
    value = CudaTuning::Api::kNone;
  else if (text == "launch")
    value = CudaTuning::Api::kLaunches;
  else if (text == "some")
    value = CudaTuning::Api::kSome;
  else if (text == "all")
    value = CudaTuning::Api::kAll;
  else
    return false;
  return true;
}

bool Buffer(std::string_view text, std::size_t& value) {
  std::size_t bytes = 0;
  // Below a page CUPTI would ask for each record; above 16 MiB the budget holds a single one.
  if (!Number(text, bytes) || bytes < 4096 || bytes > (16u << 20)) return false;
  value = bytes & ~std::size_t{4095};
  return true;
}

bool Set(CudaTuning& tuning, std::string_view key, std::string_view value) {
  if (key == "buffer") return Buffer(value, tuning.buffer_bytes);
  if (key == "ready") return Number(value, tuning.ready);
  if (key == "perthread") return Number(value, tuning.per_thread);
  if (key == "zeroed") return Number(value, tuning.zeroed);
  if (key == "devbuf") return Number(value, tuning.device_bytes);
  if (key == "devpool") return Number(value, tuning.device_pool);
  if (key == "devready") return Number(value, tuning.device_ready);
  if (key == "pinned") return Number(value, tuning.pinned);
  if (key == "kernel") return Flag(value, tuning.kernels);
  if (key == "copy") return Flag(value, tuning.copies);
  if (key == "set") return Flag(value, tuning.sets);
  if (key == "sync") return Flag(value, tuning.syncs);
  if (key == "overhead") return Flag(value, tuning.overhead);
  if (key == "memory") return Flag(value, tuning.memory);
  if (key == "graph") return Flag(value, tuning.graph_trace);
  if (key == "queries") return Flag(value, tuning.all_syncs);
  if (key == "runtime") return WhichApi(value, tuning.runtime_api);
  if (key == "driver") return WhichApi(value, tuning.driver_api);
  if (key == "events") return Flag(value, tuning.event_calls);
  if (key == "clock") return Flag(value, tuning.own_clock);
  if (key == "flush") return Number(value, tuning.flush_ms);
  if (key == "period") return Number(value, tuning.cupti_flush_ms);
  if (key == "hes") return Flag(value, tuning.hardware_trace);
  return false;
}

}  // namespace

CudaTuning ParseCudaTuning(const char* text, unsigned& unknown) noexcept {
  CudaTuning tuning;
  unknown = 0;
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view pair = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos ||
        !Set(tuning, pair.substr(0, equals), pair.substr(equals + 1))) {
      ++unknown;
    }
  }
  return tuning;
}

}  // namespace hone::collect
