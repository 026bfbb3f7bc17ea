// SPDX-License-Identifier: Apache-2.0
#include "replay/shared_device.h"

#include <algorithm>
#include <numeric>

#include "analyze/work_class.h"

namespace hone::replay {
namespace {

using trace::RowId;

// Kernels of a device that run beside others for less than this part of their time are as good as
// alone; and a stream takes part where it shares this much of its own.
constexpr double kLeastShared = 0.05, kLeastOfStream = 0.25;

// Calls span(begin, end, active) for every stretch in which the same pieces of `work` run.
// `work` is by start.
template <typename Active, typename Span>
void Sweep(const trace::DeviceWork& device, const std::vector<RowId>& work, Active& active,
           const Span& span) {
  std::vector<RowId> by_end = work;
  std::sort(by_end.begin(), by_end.end(),
            [&](RowId a, RowId b) { return device.end_ns(a) < device.end_ns(b); });
  std::size_t started = 0;
  Nanos now = INT64_MIN;
  for (std::size_t ended = 0; ended < by_end.size();) {
    const Nanos end = device.end_ns(by_end[ended]);
    const bool starts = started < work.size() && device.start_ns[work[started]] <= end;
    const Nanos next = starts ? device.start_ns[work[started]] : end;
    if (next > now && now != INT64_MIN) span(now, next);
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
  const trace::DeviceWork& device = trace.device;
  std::vector<RowId> devices;
  for (const trace::Stream& stream : trace.streams) devices.push_back(stream.device);
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  for (const RowId one : devices) {
    if (std::count_if(trace.streams.begin(), trace.streams.end(),
                      [&](const trace::Stream& s) { return s.device == one; }) < 2) {
      continue;
    }
    std::vector<RowId> kernels;
    bool communicates = false;
    for (RowId w = 0; w < device.size(); ++w) {
      if (trace.streams[device.stream[w]].device != one) continue;
      communicates = communicates || classes.IsCommunication(w);
      if (classes[w] == analyze::WorkClass::kCompute) kernels.push_back(w);
    }
    if (communicates) continue;
    Overlap overlap(device, trace.streams.size());
    Sweep(device, kernels, overlap, [&](Nanos begin, Nanos end) { overlap.Pass(end - begin); });
    if (!overlap.AnyShared()) continue;

    std::vector<RowId> work;
    std::uint16_t leader = UINT16_MAX;
    for (RowId w = 0; w < device.size(); ++w) {
      const std::uint16_t stream = device.stream[w];
      if (trace.streams[stream].device != one || !overlap.Shares(stream)) continue;
      leader = std::min(leader, stream);
      work.push_back(w);
    }
    for (const RowId w : work) leader_[device.stream[w]] = leader;
    std::vector<double> part(device.size());
    Parts parts(part);
    Sweep(device, work, parts, [&](Nanos begin, Nanos end) { parts.Pass(end - begin); });
    if (start_ns_.empty()) {
      start_ns_.assign(device.start_ns.begin(), device.start_ns.end());
      duration_ns_.assign(device.duration_ns.begin(), device.duration_ns.end());
    }
    Nanos end = INT64_MIN;
    for (const RowId w : work) {
      start_ns_[w] = std::max(start_ns_[w], end);
      duration_ns_[w] = static_cast<Nanos>(part[w]);
      end = start_ns_[w] + duration_ns_[w];
    }
  }
}

}  // namespace hone::replay
