// SPDX-License-Identifier: Apache-2.0
// recomputed-activations: what the forward pass computed is kept, and not computed again.
#include "replay/edits/recomputed_activations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "replay/edits/edits.h"
#include "replay/edits/host_cut.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;
using Region = Recompute::Region;

// Of a device's memory; memory-pressure calls 92 % full.
constexpr double kMostOfMemory = 0.9;

std::vector<HostSpan> SpansOf(const Model& model, const std::vector<Region>& regions) {
  std::vector<HostSpan> spans;
  for (const Region& region : regions) {
    spans.push_back({model.LaneOf(region.first), region.span, 0, 0});
  }
  return spans;
}

// Parameters that are gathered for it are what the gradients want as well.
void FindWork(const Model& model, const Recompute& again, RecomputedActivations& found) {
  const trace::Trace& trace = model.trace();
  for (RowId w = 0; w < trace.device.size(); ++w) {
    const RowId call = trace.device.api[w];
    const TaskId task = model.graph().of_device[w];
    if (call == kNoRow || task == kNoTask || model.classes().IsCommunication(w)) continue;
    const std::uint32_t region = again.RegionOf(call);
    if (region == Recompute::kNone || !model.InWindow(again.regions()[region].first)) continue;
    found.work.push_back(task);
    found.work_ns += model.graph().tasks[task].duration_ns;
  }
}

// Regions of a thread by time, to be asked for by moments of it.
class ByThread {
 public:
  ByThread(const trace::Trace& trace, const std::vector<Region>& regions)
      : trace_(trace), regions_(regions) {
    std::ranges::sort(regions_, {}, [&](const Region& region) { return Key(region); });
  }
  // Index of the region around it; SIZE_MAX: none.
  std::size_t At(std::uint16_t thread, Nanos time) const {
    const auto after = std::ranges::upper_bound(regions_, std::pair(thread, time), {},
                                                [&](const Region& region) { return Key(region); });
    if (after == regions_.begin()) return SIZE_MAX;
    const Region& region = *(after - 1);
    const bool inside = trace_.host.thread[region.first] == thread && time < region.span.end_ns;
    return inside ? static_cast<std::size_t>(after - 1 - regions_.begin()) : SIZE_MAX;
  }

 private:
  std::pair<std::uint16_t, Nanos> Key(const Region& region) const {
    return {trace_.host.thread[region.first], region.span.begin_ns};
  }

  const trace::Trace& trace_;
  std::vector<Region> regions_;
};

// What is still there where a region ends is what its gradients wait for.
void FindMemory(const Model& model, RecomputedActivations& found) {
  const trace::Trace& trace = model.trace();
  const trace::MemoryEvents& memory = trace.memory;
  if (!model.facts().memory) {
    found.kept = Known<Bytes>::Absent(model.facts().memory.why_not());
    return;
  }
  const auto wanted =
      trace.device.size() > 0 ? trace::MemoryDevice::kGpu : trace::MemoryDevice::kHost;
  for (const analyze::DeviceMemory& device : model.facts().memory->devices) {
    if (device.type != wanted || device.peak_allocated <= found.peak) continue;
    found.peak = device.peak_allocated;
    found.capacity = device.relative ? -1 : device.capacity;
  }
  if (found.peak < 0) {
    found.kept = Known<Bytes>::Absent("no memory of the device in this trace");
    return;
  }
  const ByThread regions(trace, found.regions);
  struct Block {
    std::size_t region = 0;
    Bytes bytes = 0;
  };
  std::unordered_map<std::uint64_t, Block> live;  // by address
  Bytes kept = 0;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (memory.device_type[i] != wanted) continue;
    const std::size_t region = regions.At(memory.thread[i], memory.time_ns[i]);
    const auto block = live.find(memory.address[i]);
    if (block != live.end()) {
      if (block->second.region == region) kept -= block->second.bytes;
      live.erase(block);
    }
    if (memory.bytes[i] > 0 && region != SIZE_MAX) {
      live[memory.address[i]] = {region, memory.bytes[i]};
      kept += memory.bytes[i];
    }
  }
  found.kept = kept / static_cast<Bytes>(model.graph().steps);
}

class KeptActivations : public Edit {
 public:
  KeptActivations(const Model& model, RecomputedActivations found)
      : found_(std::move(found)), host_(model.graph(), SpansOf(model, found_.regions)) {}

  void Apply(const Model& model, Guess /*guess*/, Plan& plan) const override {
    host_.Apply(model.graph(), 1.0, plan);
    host_.DropWaits(model.graph(), plan);
    for (const TaskId task : found_.work) plan.RemoveWork(task);
  }

  std::string Scope(const Model& model) const override {
    const auto steps = static_cast<double>(model.graph().steps);
    const auto a_step = [&](Nanos time) {
      return ThreeDigits(static_cast<double>(time) / 1e6 / steps);
    };
    const auto regions = static_cast<double>(found_.regions.size()) / steps;
    std::string scope =
        Count(static_cast<std::uint64_t>(std::llround(regions)), "stretch", "stretches");
    scope += " of a backward pass";
    if (!found_.work.empty())
      scope += fmt::format(", {} ms of device work", a_step(found_.work_ns));
    return scope + fmt::format(", {} ms on the host", a_step(found_.host_ns));
  }

 private:
  const RecomputedActivations found_;
  const HostCut host_;
};

}  // namespace

bool RecomputedActivations::TooMuch() const {
  return kept && capacity > 0 &&
         static_cast<double>(peak + *kept) > kMostOfMemory * static_cast<double>(capacity);
}

RecomputedActivations LookAtRecomputedActivations(const Model& model) {
  const Recompute again(model);
  RecomputedActivations found;
  for (const Region& region : again.regions()) {
    if (model.InWindow(region.first)) found.regions.push_back(region);
  }
  if (found.regions.empty()) return found;
  FindWork(model, again, found);
  found.host_ns = HostCut(model.graph(), SpansOf(model, found.regions)).gone_ns();
  FindMemory(model, found);
  return found;
}

FoundEdit FindRecomputedActivations(const Model& model) {
  if (model.facts().trust.present.ops == 0) return FoundEdit::Absent("no operators in this trace");
  RecomputedActivations found = LookAtRecomputedActivations(model);
  if (found.regions.empty()) {
    return FoundEdit::Absent("the backward pass computes nothing of the forward pass again");
  }
  if (found.TooMuch()) {
    return FoundEdit::Absent(fmt::format(
        "to keep what is computed again takes {} beside a peak of {}, of {}",
        HumanBytes(static_cast<double>(*found.kept)), HumanBytes(static_cast<double>(found.peak)),
        HumanBytes(static_cast<double>(found.capacity))));
  }
  return FoundEdit(std::make_unique<KeptActivations>(model, std::move(found)));
}

}  // namespace hone::replay
