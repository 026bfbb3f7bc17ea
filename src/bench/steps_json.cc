// SPDX-License-Identifier: Apache-2.0
#include "bench/steps_json.h"

#include <algorithm>

namespace hone::bench {

void WriteSteps(JsonWriter& json, const Known<Steps>& known) {
  json.Key("steps");
  if (!known) {
    json.Null();
    return;
  }
  const Steps& steps = *known;
  json.BeginObject(JsonWriter::Layout::kInline);
  json.Field("count", steps.count);
  json.Field("warmup", steps.warmup);
  json.Field("steady", steps.steady);
  json.Field("window_s", steps.window_s);
  json.Field("mean_s", steps.mean_s);
  json.Field("p50_s", steps.p50_s);
  json.Field("p95_s", steps.p95_s);
  json.Field("p99_s", steps.p99_s);
  json.Field("first_s", steps.first_s);
  json.Field("samples", steps.samples);
  json.Field("samples_per_s", steps.samples_per_s);
  json.Field("data_wait_share", steps.data_wait_share);
  json.EndObject();
}

Known<Steps> ReadSteps(const JsonValue& object) {
  const std::optional<JsonValue> value = Find(object, "steps");
  if (!value) return Known<Steps>::Absent("the recording holds no steps");
  Steps steps;
  const auto count = [&](const char* key) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(IntOr(*value, key, 0), 0));
  };
  steps.count = count("count");
  steps.warmup = count("warmup");
  steps.steady = count("steady");
  steps.samples = count("samples");
  steps.window_s = DoubleOr(*value, "window_s", 0);
  steps.mean_s = DoubleOr(*value, "mean_s", 0);
  steps.p50_s = DoubleOr(*value, "p50_s", 0);
  steps.p95_s = DoubleOr(*value, "p95_s", 0);
  steps.p99_s = DoubleOr(*value, "p99_s", 0);
  steps.first_s = DoubleOr(*value, "first_s", 0);
  steps.samples_per_s = FindDouble(*value, "samples_per_s");
  steps.data_wait_share = FindDouble(*value, "data_wait_share");
  return steps;
}

}  // namespace hone::bench
