// SPDX-License-Identifier: Apache-2.0
// transfer-bound: copies between host and device carry half of their bytes.
#include "replay/edits/transfer_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "replay/edits/edits.h"
#include "replay/edits/waits.h"
#include "trace/interval.h"

namespace hone::replay {
namespace {

using trace::CopyDirection;

// Of the step, what copies must take before the link is said to set its pace. Below it other
// remedies (a stream of their own, pinned memory) give more than fewer bytes do.
constexpr double kShareOfStep = 0.5;

// Of a copy, what stays. Half: bfloat16 for float32, or twice the batch for the same parameters.
// At most, what is copied stays where it is needed; at least, some of it is small already.
constexpr Range3 kStays = {0.75, 0.5, 0};

class TransferBound : public Edit {
 public:
  explicit TransferBound(std::vector<LinkLoad> links) : links_(std::move(links)) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    const double stays = kStays.At(guess);
    for (const LinkLoad& link : links_) {
      for (const TaskId copy : link.copies) {
        Shorten(plan, copy, stays);
        const trace::RowId call = model.trace().device.api[model.graph().tasks[copy].row];
        // The host makes a copy of pageable memory itself, inside of the call.
        if (call == trace::kNoRow || model.graph().of_host[call] == kNoTask) continue;
        if (model.calls()[call] == analyze::ApiClass::kBlockingCopy) {
          Shorten(plan, model.graph().of_host[call], stays);
        }
      }
    }
  }

  std::string Scope(const Model& model) const override {
    double bytes = 0;
    for (const LinkLoad& link : links_) bytes += link.bytes;
    return fmt::format("{} a step between host and device become half of it",
                       HumanBytes(bytes / static_cast<double>(model.graph().steps)));
  }

 private:
  static void Shorten(Plan& plan, TaskId task, double stays) {
    plan.duration_ns[task] = std::llround(static_cast<double>(plan.duration_ns[task]) * stays);
  }

  const std::vector<LinkLoad> links_;
};

// One device: what it computes, and its two directions.
struct OneDevice {
  std::vector<trace::Interval> compute;
  struct Direction {
    LinkLoad load;
    std::vector<trace::Interval> pinned;
    Nanos pageable_ns = 0;
  };
  std::array<Direction, 2> directions;
};

void AddCopy(const Model& model, TaskId id, OneDevice::Direction& direction) {
  const trace::DeviceWork& device = model.trace().device;
  const Task& task = model.graph().tasks[id];
  if (IsPageableInput(device, task.row) || IsPageableResult(device, task.row)) {
    const Known<Nanos> pinned = PinnedCopyNs(model, device.bytes[task.row], Guess::kLikely);
    if (!pinned) return;
    direction.load.pageable = true;
    direction.pageable_ns += std::min(*pinned, device.duration_ns[task.row]);
  } else {
    direction.pinned.push_back({device.start_ns[task.row], device.end_ns(task.row)});
  }
  direction.load.copies.push_back(id);
  direction.load.bytes += static_cast<double>(std::max<Bytes>(0, device.bytes[task.row]));
}

}  // namespace

std::vector<LinkLoad> FindBindingLinks(const Model& model) {
  const Graph& graph = model.graph();
  const trace::DeviceWork& work = model.trace().device;
  std::vector<OneDevice> devices(model.trace().devices.size());
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (graph.lanes[task.lane].kind != LaneKind::kStream) continue;
    OneDevice& device = devices[graph.lanes[task.lane].device];
    if (task.kind != TaskKind::kCopy) {
      device.compute.push_back({work.start_ns[task.row], work.end_ns(task.row)});
    } else if (work.direction[task.row] == CopyDirection::kHostToDevice) {
      AddCopy(model, t, device.directions[0]);
    } else if (work.direction[task.row] == CopyDirection::kDeviceToHost) {
      AddCopy(model, t, device.directions[1]);
    }
  }
  std::vector<LinkLoad> binding;
  for (std::uint32_t row = 0; row < devices.size(); ++row) {
    const Nanos compute = trace::IntervalSet::Union(std::move(devices[row].compute)).length();
    for (std::size_t way = 0; way < 2; ++way) {
      OneDevice::Direction& direction = devices[row].directions[way];
      LinkLoad& load = direction.load;
      load.device = row;
      load.direction = way == 0 ? CopyDirection::kHostToDevice : CopyDirection::kDeviceToHost;
      load.compute_ns = compute;
      load.busy_ns =
          trace::IntervalSet::Union(std::move(direction.pinned)).length() + direction.pageable_ns;
      if (load.busy_ns < compute || static_cast<double>(load.busy_ns) <
                                        kShareOfStep * static_cast<double>(graph.measured_ns)) {
        continue;
      }
      binding.push_back(std::move(load));
    }
  }
  std::stable_sort(binding.begin(), binding.end(),
                   [](const LinkLoad& a, const LinkLoad& b) { return a.busy_ns > b.busy_ns; });
  return binding;
}

FoundEdit FindTransferBound(const Model& model) {
  std::vector<LinkLoad> links = FindBindingLinks(model);
  if (links.empty()) {
    return FoundEdit::Absent(
        "copies between host and device take less than half of the step, or less than its kernels");
  }
  return FoundEdit(std::make_unique<TransferBound>(std::move(links)));
}

}  // namespace hone::replay
