// SPDX-License-Identifier: Apache-2.0
#include "replay/shared_device.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "analyze/work_class.h"
#include "replay/stream_groups.h"

namespace hone::replay {
namespace {

using trace::RowId;

// Kernels of a device that run beside others for less than this part of their time are as good as
// alone; and a stream takes part where it shares this much of its own.
constexpr double kLeastShared = 0.05, kLeastOfStream = 0.25;

// Tells `active` of every start and end, and of the time that passes between them. `work` is by
// start.
template <typename Active>
void Sweep(const trace::DeviceWork& device, const std::vector<RowId>& work, Active& active) {
  std::vector<RowId> by_end = work;
  std::sort(by_end.begin(), by_end.end(),
            [&](RowId a, RowId b) { return device.end_ns(a) < device.end_ns(b); });
  std::size_t started = 0;
  Nanos now = INT64_MIN;
  for (std::size_t ended = 0; ended < by_end.size();) {
    const Nanos end = device.end_ns(by_end[ended]);
    const bool starts = started < work.size() && device.start_ns[work[started]] <= end;
    const Nanos next = starts ? device.start_ns[work[started]] : end;
    if (next > now && now != INT64_MIN) active.Pass(next - now);
    now = next;
    if (starts) {
      active.Start(work[started++]);
    } else {
      active.End(by_end[ended++]);
    }
  }
}

// How much of each stream's time is spent beside another stream.
class Overlap {
 public:
  Overlap(const trace::DeviceWork& device, std::size_t streams)
      : device_(device), running_(streams), alone_(streams), beside_(streams) {}

  void Start(RowId work) {
    if (running_[device_.stream[work]]++ == 0) busy_.push_back(device_.stream[work]);
  }
  void End(RowId work) {
    if (--running_[device_.stream[work]] == 0) std::erase(busy_, device_.stream[work]);
  }
  void Pass(Nanos length) {
    if (busy_.empty()) return;
    union_ns_ += length;
    for (const std::uint16_t stream : busy_) {
      (busy_.size() > 1 ? beside_ : alone_)[stream] += length;
      sum_ns_ += length;
    }
  }
  bool AnyShared() const {
    return static_cast<double>(sum_ns_ - union_ns_) > kLeastShared * static_cast<double>(sum_ns_);
  }
  bool Shares(std::size_t stream) const {
    const Nanos all = alone_[stream] + beside_[stream];
    return all > 0 &&
           static_cast<double>(beside_[stream]) >= kLeastOfStream * static_cast<double>(all);
  }

 private:
  const trace::DeviceWork& device_;
  std::vector<std::uint32_t> running_;  // by stream
  std::vector<Nanos> alone_, beside_;
  std::vector<std::uint16_t> busy_;
  Nanos union_ns_ = 0, sum_ns_ = 0;
};

// Every piece that runs gets an equal part of the time.
class Parts {
 public:
  explicit Parts(std::vector<double>& part) : part_(part) {}
  void Start(RowId work) {
    ++running_;
    part_[work] = -given_;
  }
  void End(RowId work) {
    --running_;
    part_[work] += given_;
  }
  void Pass(Nanos length) {
    if (running_ > 0) given_ += static_cast<double>(length) / running_;
  }

 private:
  std::vector<double>& part_;
  double given_ = 0;  // to each that ran all the time
  int running_ = 0;
};

}  // namespace

SharedDevice::SharedDevice(const trace::Trace& trace, const analyze::WorkClasses& classes)
    : trace_(trace), leader_(trace.streams.size()) {
  std::iota(leader_.begin(), leader_.end(), std::uint16_t{0});
  const StreamGroups groups(trace);
  std::vector<std::vector<RowId>> work(groups.size());
  std::vector<std::uint8_t> alone(groups.size(), 0);
  for (std::size_t g = 0; g < groups.size(); ++g) alone[g] = groups.Streams(g).size() < 2 ? 1 : 0;
  for (RowId w = 0; w < trace.device.size(); ++w) {
    const std::uint16_t group = groups.Of(trace.device.stream[w]);
    if (classes.IsCommunication(w)) alone[group] = 1;
    if (alone[group] == 0) work[group].push_back(w);
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (alone[g] == 0) Share(classes, work[g]);
  }
}

void SharedDevice::Share(const analyze::WorkClasses& classes, std::vector<RowId> work) {
  const trace::DeviceWork& device = trace_.device;
  std::vector<RowId> kernels;
  std::copy_if(work.begin(), work.end(), std::back_inserter(kernels),
               [&](RowId w) { return classes[w] == analyze::WorkClass::kCompute; });
  Overlap overlap(device, trace_.streams.size());
  Sweep(device, kernels, overlap);
  if (!overlap.AnyShared()) return;

  std::erase_if(work, [&](RowId w) { return !overlap.Shares(device.stream[w]); });
  std::uint16_t leader = UINT16_MAX;
  for (const RowId w : work) leader = std::min(leader, device.stream[w]);
  for (const RowId w : work) leader_[device.stream[w]] = leader;
  if (start_ns_.empty()) {
    start_ns_.assign(device.start_ns.begin(), device.start_ns.end());
    duration_ns_.assign(device.duration_ns.begin(), device.duration_ns.end());
    part_.resize(device.size());
  }
  Parts parts(part_);
  Sweep(device, work, parts);
  Nanos end = INT64_MIN;
  for (const RowId w : work) {
    start_ns_[w] = std::max(start_ns_[w], end);
    duration_ns_[w] = static_cast<Nanos>(part_[w]);
    end = start_ns_[w] + duration_ns_[w];
  }
}

}  // namespace hone::replay
